package attr

import "strconv"

// Bytes returns a number of bytes for a message: "13,161 bytes".
func Bytes[N int | int64](n N) string {
	if n == 1 {
		return "1 byte"
	}
	return Thousands(strconv.FormatInt(int64(n), 10)) + " bytes"
}

// Thousands puts separators into the digits of an integer: "13,161".
func Thousands(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
