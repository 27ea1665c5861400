package codec

import (
	"fmt"

	"github.com/itemize/itemize/internal/model/attr"
)

// errDeep is the error of a value that is nested too deep, as one is that contains
// itself.
var errDeep = fmt.Errorf("the value is nested deeper than %d levels, or contains itself: store the inner part as "+
	"JSON, or as items", attr.MaxDepth)

// maxHops is more than the steps to the innermost value that DynamoDB accepts: each level of lists and
// maps can be a pointer behind an interface behind a pointer.
const maxHops = 4 * attr.MaxDepth
