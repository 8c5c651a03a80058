package driver

import "testing"

func TestLastLines(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "is empty"},
		{"\n\n", "is empty"},
		{"a\n", "ends:\n\ta"},
		{"a\nb\nc\n", "ends:\n\tb\n\tc"},
		{"a\ncause\n\tat x.y\n\tat y.z\nexit\n", "ends:\n\tcause\n\texit"},
	}
	for _, test := range tests {
		if got := LastLines(test.text, 2); got != test.want {
			t.Errorf("LastLines(%q, 2) = %q, want %q", test.text, got, test.want)
		}
	}
}
