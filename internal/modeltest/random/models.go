// Package random has models that were drawn at random, with the seed 1.
package random

import (
	"time"

	"github.com/itemize/itemize/internal/modeltest/models"
)

// All has a pointer to each model.
var All = []any{&Random0{}, &Random1{}, &Random2{}, &Random3{}, &Random4{}, &Random5{}, &Random6{}, &Random7{}, &Random8{}, &Random9{}, &Random10{}, &Random11{}, &Random12{}, &Random13{}, &Random14{}, &Random15{}, &Random16{}, &Random17{}, &Random18{}, &Random19{}, &Random20{}, &Random21{}, &Random22{}, &Random23{}, &Random24{}}

// Random0 is a model.
type Random0 struct {
	_  struct{}       "ddb:\"table=random\""
	ID string         "ddb:\"pk=R0#{ID}\""
	F2 *bool          "ddb:\"sk=A\""
	F3 time.Time      "ddb:\"sk=A\" dynamodbav:\"n131490223,unixtime\""
	F4 [][2]uint16    "ddb:\"sk=A\""
	F5 models.Address "ddb:\"sk=B,nested\""
	F6 float64        "ddb:\"sk=B\""
	F7 []string       "ddb:\"sk=B\" dynamodbav:\"n794813872\""
	F8 []*struct {
		K  string
		N  byte
		A0 []float64
		A1 struct {
			A0 int64
			A1 models.Address "dynamodbav:\"n501958087,omitempty\""
		} "dynamodbav:\"n220916387\""
	} "ddb:\"sk=M#{N:05}#{K}\""
	F9 []*struct {
		K  string
		N  byte
		A0 []byte
	} "ddb:\"sk=N#{N:05}#{K}\""
}

// Random1 is a model.
type Random1 struct {
	_  struct{}       "ddb:\"table=random\""
	ID string         "ddb:\"pk=R1#{ID}\""
	F2 [1]models.UUID "ddb:\"sk=A\" dynamodbav:\"n499405188,omitempty\""
	F3 *models.Money  "ddb:\"sk=A\""
	F4 map[string]int "ddb:\"sk=A\""
	F5 map[string]struct {
		A0 float64 "dynamodbav:\",omitempty\""
	} "ddb:\"sk=A\""
	F6 int8              "ddb:\"sk=B\""
	F7 map[string][]byte "ddb:\"sk=B\" dynamodbav:\"n138538850\""
	F8 []struct {
		A0 float64 "dynamodbav:\"n441710138\""
		A1 int     "dynamodbav:\",string\""
	} "ddb:\"sk=B\""
	F9 []struct {
		K  string
		N  byte
		A0 struct {
			A0 int64
			A1 time.Time
		} "dynamodbav:\",omitempty\""
	} "ddb:\"sk=M#{K}\""
	F10 map[models.Name]map[string]uint64 "ddb:\"sk=N#{key}\""
}

// Random2 is a model.
type Random2 struct {
	_  struct{} "ddb:\"table=random\""
	ID string   "ddb:\"pk=R2#{ID}\""
	F2 int64    "ddb:\"sk=A\""
	F3 map[string]struct {
		K  string
		N  byte
		A0 bool      "dynamodbav:\"n439864808,omitempty\""
		A1 bool      "dynamodbav:\"n297355843\""
		A2 time.Time "dynamodbav:\",unixtime\""
	} "ddb:\"sk=M#{key}\""
	F4 map[string]struct {
		K  string
		N  byte
		A0 float32
		A1 uint16 "dynamodbav:\",omitempty,string\""
	} "ddb:\"sk=N#{key}\""
}

// Random3 is a model.
type Random3 struct {
	_  struct{}    "ddb:\"table=random\""
	ID string      "ddb:\"pk=R3#{ID}\""
	F2 int8        "ddb:\"sk=A\" dynamodbav:\"n158661416\""
	F3 models.Name "ddb:\"sk=B\""
	F4 struct {
		A0 models.Point "dynamodbav:\"n467718609,omitempty\""
		A1 int
		A2 []byte "dynamodbav:\"n286661863\""
	} "ddb:\"sk=B,nested\""
	F5 []uint64           "ddb:\"sk=B\""
	F6 *[]byte            "ddb:\"sk=B\""
	F7 map[string]float64 "ddb:\"sk=C\" dynamodbav:\"n837611849,omitempty\""
	F8 struct {
		A0 []int             "dynamodbav:\",omitempty\""
		A1 map[string][]byte "dynamodbav:\"n673055176\""
	} "ddb:\"sk=C,nested\" dynamodbav:\"n264369029\""
	F9  []models.UUID "ddb:\"sk=C\""
	F10 int           "ddb:\"sk=C\" dynamodbav:\",omitempty,string\""
}

// Random4 is a model.
type Random4 struct {
	_  struct{} "ddb:\"table=random\""
	ID string   "ddb:\"pk=R4#{ID}\""
	F2 []struct {
		A0 float64 "dynamodbav:\"n593828559\""
		A1 int
		A2 interface{} "dynamodbav:\"n645048376\""
	} "ddb:\"sk=A\""
	F3 map[string]*models.Blob "ddb:\"sk=A\" dynamodbav:\",omitempty\""
	F4 []*struct {
		K  string
		N  byte
		A0 [1]bool "dynamodbav:\"n999212677\""
	} "ddb:\"sk=M#{N:05}#{K}\""
}

// Random5 is a model.
type Random5 struct {
	_  struct{}      "ddb:\"table=random\""
	ID string        "ddb:\"pk=R5#{ID}\""
	F2 *models.Money "ddb:\"sk=A\""
	F3 []byte        "ddb:\"sk=A\" dynamodbav:\",omitempty\""
	F4 struct {
		A0 uint64
		A1 [2]string "dynamodbav:\"n846555444\""
	} "ddb:\"sk=A,nested\""
	F5 map[string]models.Color "ddb:\"sk=B\""
	F6 struct {
		A0 models.Color "dynamodbav:\"n700592080,omitempty\""
	} "ddb:\"sk=B,nested\" dynamodbav:\",omitempty\""
	F7 string                 "ddb:\"sk=B\""
	F8 map[models.Name]string "ddb:\"sk=M#{key}\""
}

// Random6 is a model.
type Random6 struct {
	_  struct{}     "ddb:\"table=random\""
	ID string       "ddb:\"pk=R6#{ID}\""
	F2 time.Time    "ddb:\"sk=A\" dynamodbav:\",unixtime\""
	F3 models.Money "ddb:\"sk=A\" dynamodbav:\"n583355121\""
	F4 []*uint16    "ddb:\"sk=B\" dynamodbav:\"n116769296\""
	F5 [][1]float64 "ddb:\"sk=C\" dynamodbav:\"n601918615\""
	F6 struct {
		A0 models.Name "dynamodbav:\"n173576823,omitempty\""
		A1 [2]uint64
	} "ddb:\"sk=C,nested\""
	F7 models.Money "ddb:\"sk=C\""
	F8 []*struct {
		K  string
		N  byte
		A0 struct{ A0 string }
		A1 int8              "dynamodbav:\",omitempty\""
		A2 map[string]string "dynamodbav:\"n12364478\""
	} "ddb:\"sk=M#{N:05}#{K}\""
}

// Random7 is a model.
type Random7 struct {
	_  struct{} "ddb:\"table=random\""
	ID string   "ddb:\"pk=R7#{ID}\""
	F2 []struct {
		A0 []byte
		A1 int64       "dynamodbav:\"n736551262\""
		A2 interface{} "dynamodbav:\"n528494540\""
	} "ddb:\"sk=A\" dynamodbav:\"n529947633,omitempty\""
	F3 *uint64            "ddb:\"sk=A\""
	F4 []*[]byte          "ddb:\"sk=A\""
	F5 map[string]*uint16 "ddb:\"sk=B\""
	F6 float32            "ddb:\"sk=B\" dynamodbav:\",string\""
}

// Random8 is a model.
type Random8 struct {
	_  struct{}                "ddb:\"table=random\""
	ID string                  "ddb:\"pk=R8#{ID}\""
	F2 struct{ A0 [1]float32 } "ddb:\"sk=A,nested\""
	F3 []*int                  "ddb:\"sk=A\" dynamodbav:\"n143356094,omitempty\""
	F4 map[string]models.Money "ddb:\"sk=A\" dynamodbav:\"n470560208,omitempty\""
	F5 models.Color            "ddb:\"sk=A\" dynamodbav:\",omitempty\""
	F6 map[string][1][3]byte   "ddb:\"sk=B\" dynamodbav:\",omitempty\""
	F7 models.Blob             "ddb:\"sk=B\""
	F8 struct {
		A0 struct{ A0 models.Money }
		A1 struct {
			A0 models.Color "dynamodbav:\",string\""
		} "dynamodbav:\"n179970452,omitempty\""
	} "ddb:\"sk=C,nested\""
	F9  models.Color "ddb:\"sk=C\""
	F10 *time.Time   "ddb:\"sk=C\" dynamodbav:\"n26621118\""
	F11 map[string]struct {
		K  string
		N  byte
		A0 struct {
			A0 []byte "dynamodbav:\",omitempty\""
		}
		A1 float32 "dynamodbav:\"n988961756\""
	} "ddb:\"sk=M#{key}\""
}

// Random9 is a model.
type Random9 struct {
	_  struct{} "ddb:\"table=random\""
	ID string   "ddb:\"pk=R9#{ID}\""
	F2 string   "ddb:\"sk=A\" dynamodbav:\"n418402967\""
	F3 struct {
		A0 struct {
			A0 bool "dynamodbav:\",omitempty\""
			A1 bool
			A2 uint16 "dynamodbav:\",omitempty\""
		}
		A1 struct {
			A0 int8   "dynamodbav:\"n591070918,string\""
			A1 string "dynamodbav:\",omitempty\""
			A2 models.Name
		}
	} "ddb:\"sk=A,nested\" dynamodbav:\"n303795697\""
	F4 map[string][2]models.Blob "ddb:\"sk=A\" dynamodbav:\"n544743048\""
	F5 map[string]*string        "ddb:\"sk=A\" dynamodbav:\",omitempty\""
	F6 [][2]models.Point         "ddb:\"sk=B\""
	F7 models.Address            "ddb:\"sk=C,nested\" dynamodbav:\",omitempty\""
	F8 float64                   "ddb:\"sk=C\" dynamodbav:\",omitempty,string\""
	F9 []struct {
		K  string
		N  byte
		A0 struct{ A0 string }    "dynamodbav:\"n303695901\""
		A1 models.UUID            "dynamodbav:\"n640402471,omitempty\""
		A2 map[string]models.Blob "dynamodbav:\"n285304971,omitempty\""
	} "ddb:\"sk=M#{K}\""
}

// Random10 is a model.
type Random10 struct {
	_  struct{} "ddb:\"table=random\""
	ID string   "ddb:\"pk=R10#{ID}\""
	F2 uint16   "ddb:\"sk=A\" dynamodbav:\",omitempty\""
	F3 struct {
		A0 []models.Address
		A1 [1]models.Money
	} "ddb:\"sk=A,nested\""
	F4 *models.UUID       "ddb:\"sk=A\""
	F5 map[string][3]byte "ddb:\"sk=A\""
	F6 struct {
		A0 *models.Money
		A1 struct {
			A0 time.Time "dynamodbav:\",unixtime\""
		} "dynamodbav:\"n868304045\""
		A2 map[string]time.Time
	} "ddb:\"sk=B,nested\" dynamodbav:\"n51096112,omitempty\""
	F7 []struct{ A0 interface{} } "ddb:\"sk=B\" dynamodbav:\"n231089266\""
	F8 []*struct {
		K  string
		N  byte
		A0 bool
		A1 [3]byte "dynamodbav:\",omitempty\""
		A2 map[string][3]byte
	} "ddb:\"sk=M#{N:05}#{K}\""
	F9 []*struct {
		K  string
		N  byte
		A0 int8       "dynamodbav:\",omitempty,string\""
		A1 [2]float64 "dynamodbav:\",omitempty\""
		A2 *string
	} "ddb:\"sk=N#{N:05}#{K}\""
}

// Random11 is a model.
type Random11 struct {
	_  struct{}      "ddb:\"table=random\""
	ID string        "ddb:\"pk=R11#{ID}\""
	F2 *models.Money "ddb:\"sk=A\""
	F3 *time.Time    "ddb:\"sk=A\""
	F4 struct {
		A0 []byte
		A1 map[string]uint64
		A2 map[string]int8 "dynamodbav:\",omitempty\""
	} "ddb:\"sk=A,nested\""
	F5 models.UUID   "ddb:\"sk=B\""
	F6 []models.UUID "ddb:\"sk=B\" dynamodbav:\"n646567744\""
}

// Random12 is a model.
type Random12 struct {
	_  struct{}                        "ddb:\"table=random\""
	ID string                          "ddb:\"pk=R12#{ID}\""
	F2 map[string]map[string]time.Time "ddb:\"sk=A\" dynamodbav:\"n181899454,omitempty\""
	F3 [2]float64                      "ddb:\"sk=A\""
	F4 []struct {
		A0 string "dynamodbav:\"n790108335\""
		A1 int
	} "ddb:\"sk=A\" dynamodbav:\"n868676959\""
	F5 []struct {
		K  string
		N  byte
		A0 [3]byte
	} "ddb:\"sk=M#{K}\""
}

// Random13 is a model.
type Random13 struct {
	_  struct{}                     "ddb:\"table=random\""
	ID string                       "ddb:\"pk=R13#{ID}\""
	F2 map[string]map[string]uint64 "ddb:\"sk=A\" dynamodbav:\",omitempty\""
	F3 map[string]map[string]uint16 "ddb:\"sk=A\" dynamodbav:\"n886126278\""
	F4 struct {
		A0 string       "dynamodbav:\",omitempty\""
		A1 models.Money "dynamodbav:\",omitempty\""
		A2 []interface{}
	} "ddb:\"sk=A,nested\""
	F5 *int64        "ddb:\"sk=B\""
	F6 *models.Color "ddb:\"sk=B\" dynamodbav:\"n513820962\""
	F7 float32       "ddb:\"sk=B\""
	F8 int64         "ddb:\"sk=B\""
	F9 []struct {
		K  string
		N  byte
		A0 [3]byte "dynamodbav:\"n730868351,omitempty\""
	} "ddb:\"sk=M#{K}\""
	F10 map[models.Name]*models.Point "ddb:\"sk=N#{key}\""
}

// Random14 is a model.
type Random14 struct {
	_  struct{}    "ddb:\"table=random\""
	ID string      "ddb:\"pk=R14#{ID}\""
	F2 models.Name "ddb:\"sk=A\""
	F3 *float32    "ddb:\"sk=A\""
	F4 []int64     "ddb:\"sk=A\""
	F5 map[string]struct {
		A0 models.Color "dynamodbav:\"n810603568,omitempty\""
		A1 interface{}
	} "ddb:\"sk=B\" dynamodbav:\"n801550686\""
	F6 [1]struct {
		A0 [3]byte "dynamodbav:\"n599508908\""
		A1 [3]byte
		A2 float32
	} "ddb:\"sk=B\""
	F7  *int              "ddb:\"sk=B\""
	F8  *[3]byte          "ddb:\"sk=C\""
	F9  [2][1]uint16      "ddb:\"sk=C\""
	F10 map[string]string "ddb:\"sk=C\""
	F11 map[string]struct {
		A0 uint16 "dynamodbav:\"n642933580\""
	} "ddb:\"sk=C\" dynamodbav:\"n685236397,omitempty\""
	F12 map[string]struct {
		K  string
		N  byte
		A0 []uint16           "dynamodbav:\"n488499511\""
		A1 map[string]float32 "dynamodbav:\",omitempty\""
		A2 []interface{}
	} "ddb:\"sk=M#{key}\""
}

// Random15 is a model.
type Random15 struct {
	_  struct{} "ddb:\"table=random\""
	ID string   "ddb:\"pk=R15#{ID}\""
	F2 struct {
		A0 time.Time "dynamodbav:\",omitempty\""
	} "ddb:\"sk=A,nested\" dynamodbav:\"n220495737\""
	F3 int64             "ddb:\"sk=A\""
	F4 models.Color      "ddb:\"sk=B\""
	F5 [][1]models.Money "ddb:\"sk=B\""
	F6 int64             "ddb:\"sk=B\" dynamodbav:\"n730826183,omitempty\""
}

// Random16 is a model.
type Random16 struct {
	_  struct{}                           "ddb:\"table=random\""
	ID string                             "ddb:\"pk=R16#{ID}\""
	F2 int64                              "ddb:\"sk=A\" dynamodbav:\"n343014871\""
	F3 time.Time                          "ddb:\"sk=A\" dynamodbav:\"n784018864\""
	F4 interface{}                        "ddb:\"sk=A\" dynamodbav:\"n548067575\""
	F5 []float32                          "ddb:\"sk=A\""
	F6 map[models.Name]map[string]float32 "ddb:\"sk=M#{key}\""
	F7 []*struct {
		K  string
		N  byte
		A0 string
		A1 interface{}
	} "ddb:\"sk=N#{N:05}#{K}\""
}

// Random17 is a model.
type Random17 struct {
	_  struct{}       "ddb:\"table=random\""
	ID string         "ddb:\"pk=R17#{ID}\""
	F2 [1]interface{} "ddb:\"sk=A\""
	F3 []struct {
		K  string
		N  byte
		A0 [3]byte "dynamodbav:\",omitempty\""
	} "ddb:\"sk=M#{K}\""
}

// Random18 is a model.
type Random18 struct {
	_  struct{}       "ddb:\"table=random\""
	ID string         "ddb:\"pk=R18#{ID}\""
	F2 models.Address "ddb:\"sk=A,nested\" dynamodbav:\"n456880560\""
	F3 uint16         "ddb:\"sk=A\" dynamodbav:\"n609705963,omitempty\""
	F4 *models.Point  "ddb:\"sk=A\""
	F5 struct {
		A0 *models.UUID
		A1 struct{ A0 models.Blob }
	} "ddb:\"sk=A,nested\" dynamodbav:\"n364836666\""
	F6 struct {
		A0 struct {
			A0 int "dynamodbav:\",omitempty\""
			A1 bool
		} "dynamodbav:\"n61598260,omitempty\""
		A1 map[string]uint16 "dynamodbav:\"n751025362\""
	} "ddb:\"sk=B,nested\" dynamodbav:\",omitempty\""
	F7  int8      "ddb:\"sk=B\" dynamodbav:\",string\""
	F8  time.Time "ddb:\"sk=B\""
	F9  []byte    "ddb:\"sk=C\" dynamodbav:\"n880169334\""
	F10 int8      "ddb:\"sk=C\" dynamodbav:\"n890952351,omitempty,string\""
	F11 *bool     "ddb:\"sk=C\""
	F12 []struct {
		A0 bool           "dynamodbav:\"n568981474\""
		A1 models.Address "dynamodbav:\"n281926345\""
	} "ddb:\"sk=C\" dynamodbav:\"n299534842\""
	F13 map[string]struct {
		K  string
		N  byte
		A0 [1][3]byte
		A1 int8    "dynamodbav:\"n897701937,omitempty\""
		A2 float32 "dynamodbav:\",string\""
	} "ddb:\"sk=M#{key}\""
}

// Random19 is a model.
type Random19 struct {
	_  struct{}              "ddb:\"table=random\""
	ID string                "ddb:\"pk=R19#{ID}\""
	F2 struct{ A0 *float32 } "ddb:\"sk=A,nested\" dynamodbav:\",omitempty\""
	F3 map[string][2]int     "ddb:\"sk=A\""
	F4 struct {
		A0 float64
		A1 string "dynamodbav:\",omitempty\""
		A2 *models.UUID
	} "ddb:\"sk=A,nested\""
	F5 []struct {
		K  string
		N  byte
		A0 []models.Blob "dynamodbav:\"n227372904\""
	} "ddb:\"sk=M#{K}\""
	F6 map[string]struct {
		K  string
		N  byte
		A0 models.Address "dynamodbav:\"n441045594\""
	} "ddb:\"sk=N#{key}\""
}

// Random20 is a model.
type Random20 struct {
	_  struct{}          "ddb:\"table=random\""
	ID string            "ddb:\"pk=R20#{ID}\""
	F2 [2]models.Money   "ddb:\"sk=A\""
	F3 []map[string]bool "ddb:\"sk=A\" dynamodbav:\"n108728173\""
	F4 uint64            "ddb:\"sk=B\""
	F5 interface{}       "ddb:\"sk=B\" dynamodbav:\"n180649872\""
	F6 models.Point      "ddb:\"sk=B\""
	F7 [1]models.Blob    "ddb:\"sk=B\" dynamodbav:\"n114387309,omitempty\""
}

// Random21 is a model.
type Random21 struct {
	_  struct{}     "ddb:\"table=random\""
	ID string       "ddb:\"pk=R21#{ID}\""
	F2 models.Money "ddb:\"sk=A\""
	F3 struct {
		A0 struct {
			A0 uint16
			A1 int64
			A2 uint16 "dynamodbav:\",omitempty\""
		} "dynamodbav:\",omitempty\""
		A1 [2]models.Color "dynamodbav:\",omitempty\""
		A2 models.Name     "dynamodbav:\"n388782038\""
	} "ddb:\"sk=B,nested\""
	F4 [2]*models.Name "ddb:\"sk=B\" dynamodbav:\",omitempty\""
	F5 []bool          "ddb:\"sk=C\" dynamodbav:\",omitempty\""
	F6 [1]bool         "ddb:\"sk=C\" dynamodbav:\"n505099391\""
	F7 map[string]struct {
		K  string
		N  byte
		A0 *float32
		A1 models.Name "dynamodbav:\"n730183767,omitempty\""
		A2 []models.UUID
	} "ddb:\"sk=M#{key}\""
	F8 map[string]struct {
		K  string
		N  byte
		A0 map[string]time.Time
		A1 []models.Point
		A2 models.Point
	} "ddb:\"sk=N#{key}\""
}

// Random22 is a model.
type Random22 struct {
	_  struct{}                "ddb:\"table=random\""
	ID string                  "ddb:\"pk=R22#{ID}\""
	F2 map[string]*models.UUID "ddb:\"sk=A\""
	F3 int8                    "ddb:\"sk=A\""
	F4 models.Money            "ddb:\"sk=B\""
	F5 struct {
		A0 map[string]models.Blob
		A1 [1]models.UUID "dynamodbav:\"n709099056\""
	} "ddb:\"sk=C,nested\" dynamodbav:\"n25857498\""
	F6 map[models.Name][2]models.Color "ddb:\"sk=M#{key}\""
}

// Random23 is a model.
type Random23 struct {
	_  struct{} "ddb:\"table=random\""
	ID string   "ddb:\"pk=R23#{ID}\""
	F2 uint64   "ddb:\"sk=A\" dynamodbav:\",omitempty\""
	F3 struct {
		A0 *float64 "dynamodbav:\"n594097224\""
	} "ddb:\"sk=A,nested\""
	F4 models.Name "ddb:\"sk=A\""
	F5 []*struct {
		K  string
		N  byte
		A0 *uint64 "dynamodbav:\"n137659715\""
		A1 struct {
			A0 interface{}
			A1 []byte
			A2 uint16
		} "dynamodbav:\"n210112453,omitempty\""
	} "ddb:\"sk=M#{N:05}#{K}\""
}

// Random24 is a model.
type Random24 struct {
	_  struct{} "ddb:\"table=random\""
	ID string   "ddb:\"pk=R24#{ID}\""
	F2 [2]struct {
		A0 int64
		A1 bool
		A2 float64
	} "ddb:\"sk=A\""
	F3 []struct {
		A0 float64 "dynamodbav:\",string\""
	} "ddb:\"sk=A\""
	F4 [2]int64           "ddb:\"sk=A\" dynamodbav:\"n453182051,omitempty\""
	F5 map[string]float64 "ddb:\"sk=A\""
	F6 map[string]struct {
		K  string
		N  byte
		A0 [2]models.UUID "dynamodbav:\",omitempty\""
		A1 [2][]byte      "dynamodbav:\",omitempty\""
	} "ddb:\"sk=M#{key}\""
	F7 map[models.Name]models.Color "ddb:\"sk=N#{key}\""
}
