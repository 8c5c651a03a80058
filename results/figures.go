package results

// Figures are numbers by name. One that is not known is nil, and null in JSON: never 0.
type Figures map[string]*float64

// Set sets a number that is known.
func (f Figures) Set(name string, value float64) { f[name] = &value }

// Get is a number, and whether it is known.
func (f Figures) Get(name string) (value float64, known bool) {
	if p := f[name]; p != nil {
		return *p, true
	}
	return 0, false
}

// Add adds what is known of both: a sum of which one part is unknown is unknown.
func (f Figures) Add(g Figures) {
	for name, value := range g {
		if sum, had := f[name]; !had || sum == nil || value == nil {
			if !had && value != nil {
				f.Set(name, *value)
			} else {
				f[name] = nil
			}
			continue
		}
		f.Set(name, *f[name]+*value)
	}
}
