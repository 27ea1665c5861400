package field

// Time is the handle of a time.Time, or of a type that converts to it. DynamoDB compares what is
// stored: seconds with the option unixtime, otherwise text, which is in the order of the instants where
// all have the same zone and as many digits of a second. Equal and In compare the same: an instant in
// another zone is another text. It also has the methods of [Value]: Set, SetIfAbsent, Remove, Equal,
// NotEqual, In, Exists, Absent.
type Time[R, V any] struct{ ordered[R, V] }
