package item

import "strings"

// A request names a table by its name or its ARN. An engine may answer with the other of the two:
// DynamoDB Local answers a request for an ARN with the name.

// SameTable reports whether two names can be those of one table: they are equal, or one is the ARN of a
// table with the other name.
func SameTable(a, b string) bool {
	if a == b {
		return true
	}
	x, isARN := tableOfARN(a)
	y, isOtherARN := tableOfARN(b)
	return isARN != isOtherARN && x == y
}

// tableOfARN returns the table name in an ARN, or a name as it is.
func tableOfARN(name string) (table string, isARN bool) {
	if !strings.HasPrefix(name, "arn:") {
		return name, false
	}
	_, table, ok := strings.Cut(name, ":table/")
	table, _, _ = strings.Cut(table, "/") // of an index or a stream
	return table, ok
}

// Asked returns the one of the names of a request that an answer means, "" for none. It is none if
// several can be meant.
func Asked(answered string, asked []string) string {
	found := ""
	for _, name := range asked {
		switch {
		case name == answered:
			return name
		case !SameTable(name, answered):
		case found != "":
			return ""
		default:
			found = name
		}
	}
	return found
}
