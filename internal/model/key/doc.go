// Package key renders and parses the values of partition and sort keys.
//
// A key attribute holds a Scalar: a string, a number or bytes. Its text follows
// a Template, a list of literals and placeholders, each placeholder with a
// Format. Rendering is injective and Parse is its inverse (law 4,
// docs/design/invariants.md): two lists of values never give the same text, and
// a text gives its values back. Overlap decides whether two templates can ever give the same text.
package key
