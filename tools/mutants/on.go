package main

// switchSource is the package that every changed file imports: the numbers are those of the mutants.
const switchSource = `package on

import (
	"cmp"
	"os"
	"strconv"
	"syscall"
)

var chosen, reached = environment()

func environment() (int, []byte) {
	chosen, err := strconv.Atoi(os.Getenv("ZKBENCH_MUTANT"))
	if err != nil {
		chosen = -1
	}
	f, err := os.OpenFile(os.Getenv("ZKBENCH_MUTANTS_REACHED"), os.O_RDWR, 0)
	if err != nil {
		return chosen, nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		panic(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(st.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return chosen, b
}

func Is(n int) bool {
	if reached != nil {
		reached[n] = 1
	}
	return n == chosen
}

func And(on, a bool, b func() bool) bool {
	if on {
		return a || b()
	}
	return a && b()
}

func Or(on, a bool, b func() bool) bool {
	if on {
		return a && b()
	}
	return a || b()
}

func Less[T cmp.Ordered](not, by bool, a, b T) bool         { return not != (by && a <= b || !by && a < b) }
func LessEqual[T cmp.Ordered](not, by bool, a, b T) bool    { return not != (by && a < b || !by && a <= b) }
func Greater[T cmp.Ordered](not, by bool, a, b T) bool      { return not != (by && a >= b || !by && a > b) }
func GreaterEqual[T cmp.Ordered](not, by bool, a, b T) bool { return not != (by && a > b || !by && a >= b) }

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type number interface{ integer | ~float32 | ~float64 }

func Add[T number](on bool, a, b T) T {
	if on {
		return a - b
	}
	return a + b
}

func Sub[T number](on bool, a, b T) T {
	if on {
		return a + b
	}
	return a - b
}

func Mul[T number](on bool, a, b T) T {
	if on {
		return a / b
	}
	return a * b
}

func Quo[T number](on bool, a, b T) T {
	if on {
		return a * b
	}
	return a / b
}

func Rem[T integer](on bool, a, b T) T {
	if on {
		return a * b
	}
	return a % b
}

func Up[T number](on bool, p *T) {
	if on {
		*p--
	} else {
		*p++
	}
}

func Down[T number](on bool, p *T) { Up(!on, p) }
`
