package random

//go:generate go run ../randomgen
//go:generate go tool itemize gen -accept
