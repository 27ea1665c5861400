package field

// Time is the handle of a time.Time, or of a type that converts to it. DynamoDB compares the stored
// form: seconds with the option unixtime, otherwise text. Text has the order of the instants if all
// values have the same zone and the same number of digits of a second. Equal and In compare text too,
// so an instant in another zone is different. It also has the methods of [Value]: Set, SetIfAbsent,
// Remove, Equal, NotEqual, In, Exists, Absent.
type Time[R, V any] struct {
	value[R, V]
	order[R, V]
}

func (h *Time[R, V]) bind(is handle) { h.is, h.order.by = is, &h.is }
