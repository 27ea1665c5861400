package charge

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// UTF8 returns a text file in UTF-8 without a byte order mark. Editors and PowerShell write others: UTF-8 with a mark,
// and UTF-16 in both byte orders, with a mark or, where every second byte of the beginning is 0, without.
func UTF8(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return text[3:]
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		order, text = binary.LittleEndian, text[2:]
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		order, text = binary.BigEndian, text[2:]
	case len(text) > 3 && text[0] != 0 && text[1] == 0 && text[2] != 0 && text[3] == 0:
		order = binary.LittleEndian
	case len(text) > 3 && text[0] == 0 && text[1] != 0 && text[2] == 0 && text[3] != 0:
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
