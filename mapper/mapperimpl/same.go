package mapperimpl

import (
	"encoding"
	"math"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/model/codec"
)

// SameTime reports whether two times encode alike as text.
func SameTime(a, b *time.Time) bool { return codec.SameTime(a, b, false) }

// SameUnixTime reports whether two times encode alike as epoch seconds.
func SameUnixTime(a, b *time.Time) bool { return codec.SameTime(a, b, true) }

// SameFloat reports whether two floats encode alike: zero and minus zero do not.
//
//go:noinline
func SameFloat[F codec.Floating](a, b *F) bool {
	return math.Float64bits(float64(*a)) == math.Float64bits(float64(*b))
}

// SameBig reports whether two big numbers encode alike, floats also with different precisions.
//
//go:noinline
func SameBig[B any](a, b *B) bool { return codec.BigText(a) == codec.BigText(b) }

// CloneBig copies a big number, a float with its precision.
//
//go:noinline
func CloneBig[B any](dst, src *B) { codec.CopyBig(dst, src) }

// SameValues reports whether two slices of plain values encode alike: nil and empty do not.
//
//go:noinline
func SameValues[S ~[]E, E comparable](a, b *S) bool {
	return (*a == nil) == (*b == nil) && slices.Equal(*a, *b)
}

// SameSlice reports whether two slices encode alike.
//
//go:noinline
func SameSlice[S ~[]E, E any](a, b *S, same func(a, b *E) bool) bool {
	return (*a == nil) == (*b == nil) && len(*a) == len(*b) && SameElements(*a, *b, same)
}

// SameElements reports whether the elements of two slices of one length encode alike.
//
//go:noinline
func SameElements[E any](a, b []E, same func(a, b *E) bool) bool {
	for i := range a {
		if !same(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// SamePlainMap reports whether two maps of plain values encode alike.
//
//go:noinline
func SamePlainMap[M ~map[K]E, K, E comparable](a, b *M) bool {
	if (*a == nil) != (*b == nil) || len(*a) != len(*b) {
		return false
	}
	for k, v := range *a {
		if w, ok := (*b)[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// SameMap reports whether two maps encode alike.
//
//go:noinline
func SameMap[M ~map[K]E, K comparable, E any](a, b *M, same func(a, b *E) bool) bool {
	if (*a == nil) != (*b == nil) || len(*a) != len(*b) {
		return false
	}
	var p, q E // one pair for all entries
	for k, v := range *a {
		w, ok := (*b)[k]
		if !ok {
			return false
		}
		if p, q = v, w; !same(&p, &q) {
			return false
		}
	}
	return true
}

// SamePointer reports whether two pointers' values encode alike.
//
//go:noinline
func SamePointer[E any](a, b **E, same func(a, b *E) bool) bool {
	if *a == nil || *b == nil {
		return *a == *b
	}
	return same(*a, *b)
}

// CloneSlice copies a slice and its elements.
//
//go:noinline
func CloneSlice[S ~[]E, E any](dst, src *S, clone func(dst, src *E)) {
	if *src == nil {
		*dst = nil
		return
	}
	c := make(S, len(*src))
	for i := range c {
		clone(&c[i], &(*src)[i])
	}
	*dst = c
}

// CloneMap copies a map and its elements.
//
//go:noinline
func CloneMap[M ~map[K]E, K comparable, E any](dst, src *M, clone func(dst, src *E)) {
	if *src == nil {
		*dst = nil
		return
	}
	c := make(M, len(*src))
	for k, v := range *src {
		var e E
		clone(&e, &v)
		c[k] = e
	}
	*dst = c
}

// ClonePointer copies a pointer and what it points to.
//
//go:noinline
func ClonePointer[E any](dst, src **E, clone func(dst, src *E)) {
	if *src == nil {
		*dst = nil
		return
	}
	c := new(E)
	clone(c, *src)
	*dst = c
}

// Copy copies a value that holds no slices, maps or pointers.
//
//go:noinline
func Copy[E any](dst, src *E) { *dst = *src }

// SameText reports whether two values have the same text form.
//
//go:noinline
func SameText[T any](a, b *T) bool {
	x, errX := any(a).(encoding.TextMarshaler).MarshalText()
	y, errY := any(b).(encoding.TextMarshaler).MarshalText()
	return errX == nil && errY == nil && string(x) == string(y)
}

// CloneText copies a value through its text form. If it has none, building the key reports the error.
//
//go:noinline
func CloneText[T any](dst, src *T) {
	text, err := any(src).(encoding.TextMarshaler).MarshalText()
	if err != nil || any(dst).(encoding.TextUnmarshaler).UnmarshalText(text) != nil {
		*dst = *src
	}
}
