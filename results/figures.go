package results

// Figures holds numbers by name. An unknown number is nil, and null in JSON: never 0.
type Figures map[string]*float64

// Set sets a known number.
func (f Figures) Set(name string, value float64) { f[name] = &value }

// Get returns a number, and whether it is known.
func (f Figures) Get(name string) (value float64, known bool) {
	if p := f[name]; p != nil {
		return *p, true
	}
	return 0, false
}

// Add adds g to f. The sum is unknown if either part is unknown.
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
