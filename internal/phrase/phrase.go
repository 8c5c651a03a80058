package phrase

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Count is a number with its noun: '1 session', '2 sessions', '0 entries'.
func Count[N int | int64](n N, noun string) string {
	return strconv.FormatInt(int64(n), 10) + " " + Noun(n, noun)
}

// Noun is the noun in the number that n calls for, with the 's', 'es' or 'ies' at its end.
func Noun[N int | int64](n N, noun string) string {
	if n == 1 {
		return noun
	}
	if stem, ends := strings.CutSuffix(noun, "y"); ends && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "tch") {
		return noun + "es"
	}
	return noun + "s"
}

// Times is 'once', 'twice', '3 times'.
func Times[N int | int64](n N) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return Count(n, "time")
}

// units of a time, the largest first.
var units = []struct {
	name string
	size float64 // seconds
}{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}

// Seconds is a length of time, given in seconds, in the unit in which it is at least 1, with three digits: '2.5 s', '85 ms', '60 ns'.
func Seconds(s float64) string {
	size := math.Abs(s)
	if size == 0 {
		return "0 s"
	}
	for i, u := range units {
		if rounded := Digits(size/u.size, 3); rounded >= 1 || i == len(units)-1 {
			return Number(s/u.size, 3) + " " + u.name
		}
	}
	panic("unreachable")
}

// Duration is a length of time as Seconds writes it.
func Duration(d time.Duration) string { return Seconds(d.Seconds()) }

// Digits rounds to so many significant digits.
func Digits(v float64, digits int) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// Least rounds towards 0 to so many significant digits: a lower bound stays one.
func Least(v float64, digits int) float64 {
	rounded := Digits(v, digits)
	if math.Abs(rounded) <= math.Abs(v) || v == 0 {
		return rounded
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-float64(digits-1))
	return Digits(rounded-math.Copysign(unit, v), digits)
}

// Number writes at most so many significant digits and no exponent: '0.0123', '1.23', '120', '13000'. Zeros at the end of a fraction are
// left out.
func Number(v float64, digits int) string { return strconv.FormatFloat(Digits(v, digits), 'f', -1, 64) }

// Fixed writes exactly so many significant digits, with the zeros at the end: the format of a column of measured numbers.
func Fixed(v float64, digits int) string {
	rounded := Digits(v, digits)
	if rounded == 0 {
		return "0"
	}
	after := digits - 1 - int(math.Floor(math.Log10(math.Abs(rounded))+1e-9))
	return strconv.FormatFloat(rounded, 'f', max(after, 0), 64)
}

// Bytes is a size with its unit, two digits or more.
func Bytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	v, unit := float64(n), 0
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	if v >= 10 {
		return fmt.Sprintf("%.0f %s", v, units[unit])
	}
	return Number(v, 2) + " " + units[unit]
}

// Rough is a length of time that is known roughly: '40 s', '1 m 40 s', '2 h 5 m'. It is rounded to a second, above a minute to five seconds and
// above an hour to a minute.
func Rough(d time.Duration) string {
	switch {
	case d < time.Minute:
		d = d.Round(time.Second)
	case d < time.Hour:
		d = d.Round(5 * time.Second)
	default:
		d = d.Round(time.Minute)
	}
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0 && m > 0:
		return fmt.Sprintf("%d h %d m", h, m)
	case h > 0:
		return fmt.Sprintf("%d h", h)
	case m > 0 && s > 0:
		return fmt.Sprintf("%d m %d s", m, s)
	case m > 0:
		return fmt.Sprintf("%d m", m)
	}
	return fmt.Sprintf("%d s", s)
}
