package trace

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/bits"
)

// registers is the number of registers of a sketch: it errs by about 1.04/sqrt(registers), 3 %.
const registers = 1024

// Sketch estimates the number of different keys (HyperLogLog). It keeps
// no keys, and no hash of one.
type Sketch struct{ registers []byte }

// Hash returns the hash of the parts of a key. It is the same in all processes.
func Hash(parts ...string) uint64 {
	h := Begin
	for _, p := range parts {
		h = h.Add(p)
	}
	return h.Sum()
}

// Hashing is an unfinished hash.
type Hashing uint64

// Begin is the hash of no parts (FNV-1a).
const Begin Hashing = 14695981039346656037

// Add adds a part.
func (h Hashing) Add(part string) Hashing {
	for i := range len(part) {
		h = (h ^ Hashing(part[i])) * 1099511628211
	}
	return (h ^ 0xff) * 1099511628211
}

// Sum returns the hash.
func (h Hashing) Sum() uint64 {
	// the finalizer of SplitMix64: FNV alone leaves the upper bits of short keys alike
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return uint64(h ^ h>>31)
}

// Add adds the hash of a key.
func (s *Sketch) Add(hash uint64) {
	if s.registers == nil {
		s.registers = make([]byte, registers)
	}
	i := hash % registers
	s.registers[i] = max(s.registers[i], byte(bits.LeadingZeros64(hash|registers-1)+1))
}

// Count returns the estimate.
func (s *Sketch) Count() float64 {
	if s.registers == nil {
		return 0
	}
	sum, zeros := 0.0, 0
	for _, r := range s.registers {
		if sum += math.Ldexp(1, -int(r)); r == 0 {
			zeros++
		}
	}
	n := 0.7213 / (1 + 1.079/registers) * registers * registers / sum
	if n <= 2.5*registers && zeros > 0 {
		n = registers * math.Log(registers/float64(zeros))
	}
	return n
}

// merge adds the keys of another sketch.
func (s *Sketch) merge(o Sketch) {
	if o.registers == nil {
		return
	}
	if s.registers == nil {
		s.registers = make([]byte, registers)
	}
	for i, r := range o.registers {
		s.registers[i] = max(s.registers[i], r)
	}
}

// MarshalText returns the registers in base64.
func (s Sketch) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, s.registers), nil
}

// UnmarshalText reads the registers.
func (s *Sketch) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err == nil && len(b) != 0 && len(b) != registers {
		err = fmt.Errorf("%d registers: the recording is damaged", len(b))
	}
	if len(b) > 0 {
		s.registers = b
	}
	return err
}
