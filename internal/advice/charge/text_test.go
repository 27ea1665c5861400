package charge

import "testing"

// Items are read from UTF-8 with a byte order mark, and from UTF-16 in both orders: editors and PowerShell write them.
func TestItemsInOtherEncodings(t *testing.T) {
	const text = `{"name": "Zo\u00eb", "größe": 1, "emoji": "😀"}`
	utf16 := func(mark, big bool) string {
		var out []byte
		add := func(u uint16) {
			if big {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
		if mark {
			add(0xFEFF)
		}
		for _, r := range text {
			if r > 0xFFFF {
				r -= 0x10000
				add(uint16(0xD800 + r>>10))
				r = 0xDC00 + r&0x3FF
			}
			add(uint16(r))
		}
		return string(out)
	}
	want, err := ItemFromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{
		"UTF-8 with a mark": "\ufeff" + text, "little endian": utf16(true, false), "big endian": utf16(true, true),
		"little endian without a mark": utf16(false, false), "big endian without a mark": utf16(false, true),
	} {
		got, err := ItemsFromJSON([]byte(other))
		if err != nil || len(got) != 1 || len(got[0]) != len(want) || got[0]["größe"] == nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A file that looks like one attribute value, or like an item with values of two types, is no plain document.
func TestTwoTypesAreNoDocument(t *testing.T) {
	for _, text := range []string{
		`{"S": "a", "N": "1"}`, `{"email": {"S": "a", "N": "1"}}`, `{"a": {"S": "x"}, "b": {"S": "a", "BOOL": true}}`,
	} {
		if it, err := ItemFromJSON([]byte(text)); err == nil {
			t.Errorf("%s is %v", text, it)
		}
	}
	for _, text := range []string{`{"S": 1, "N": 2}`, `{"sizes": {"S": 3, "M": 4}}`, `{"a": {"x": "y"}}`} {
		if _, err := ItemFromJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
