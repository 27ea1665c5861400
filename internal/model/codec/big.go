package codec

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
)

// BigPrec is the precision that a big.Float of none is given when it is read, in bits: more than the 38
// digits of a number take.
const BigPrec = 128

// bigForm completes the form of big.Int and big.Float, which attributevalue would store empty: they are
// numbers, with all their digits.
func bigForm(f *Form) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		text := BigText(p)
		if text == "0" {
			if av, done := o.empty(false); done {
				return av, nil
			}
		}
		if _, ok := key.Canonical(text); !ok {
			return nil, bigRefused(text)
		}
		if x, float := p.(*big.Float); float && x.Sign() != 0 {
			text = x.Text('f', -1) // as attributevalue writes a float64, and DynamoDB returns it
		}
		return o.number(text), nil
	}
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if _, null := av.(*types.AttributeValueMemberNULL); null {
			return setBig(p, "0")
		}
		text, ok := o.digits(av)
		if !ok {
			return fmt.Errorf("the stored type is wrong: a %s takes a number, but a %s is stored", f.Type,
				strings.TrimPrefix(fmt.Sprintf("%T", av), "*types.AttributeValueMember"))
		}
		return setBig(p, text)
	}
	f.same = func(a, b any, _ Options) bool { return BigText(a) == BigText(b) }
	f.clone = func(dst, src any) { CopyBig(dst, src) }
	f.isZero = func(p any) bool { return BigText(p) == "0" }
	return f
}

// isBig reports whether a type is a big number, or a pointer to one.
func isBig(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t == reflect.TypeFor[big.Int]() || t == reflect.TypeFor[big.Float]()
}

func bigRefused(text string) error {
	if _, digits, _, ok := key.Decimal(text); ok && len(digits) > key.MaxDigits {
		return redact.Errorf("the number%v has %d significant digits, but DynamoDB keeps %d: round it, or store it "+
			"as text", redact.Of(text), len(digits), key.MaxDigits)
	}
	return redact.Errorf("the number%v is too large or too small: the magnitudes of DynamoDB are 1E-130 to 9.99E+125",
		redact.Of(text))
}

// BigText returns the text of a *big.Int or *big.Float. A float has the fewest digits that tell it from others of its
// precision. Where it is large or small, it has an exponent.
func BigText(p any) string {
	switch v := p.(type) {
	case *big.Int:
		return v.String()
	case *big.Float:
		if v.Sign() == 0 {
			return "0" // minus zero is stored as zero
		}
		return v.Text('g', -1)
	}
	panic(fmt.Sprintf("%T is not a big number", p))
}

// setBig sets a *big.Int or *big.Float to a number.
func setBig(p any, text string) error {
	switch v := p.(type) {
	case *big.Int:
		neg, digits, exp, ok := key.Decimal(text)
		switch {
		case !ok:
			return redact.Errorf("the stored text%v is not a number", redact.Of(text))
		case exp < len(digits):
			return redact.Errorf("the stored number%v is not an integer, as big.Int needs", redact.Of(text))
		case digits == "":
			digits = "0"
		default:
			digits += strings.Repeat("0", exp-len(digits))
		}
		v.SetString(digits, 10)
		if neg {
			v.Neg(v)
		}
		return nil
	case *big.Float:
		if v.Prec() == 0 {
			v.SetPrec(BigPrec)
		}
		if _, _, err := v.Parse(text, 10); err != nil {
			return redact.Hide(err, "the stored text is not a number")
		}
		return nil
	}
	panic(fmt.Sprintf("%T is not a big number", p))
}

// CopyBig copies a *big.Int or *big.Float, so that neither shares digits with the other.
func CopyBig(dst, src any) {
	switch v := src.(type) {
	case *big.Int:
		dst.(*big.Int).Set(v)
	case *big.Float:
		dst.(*big.Float).Copy(v)
	}
}
