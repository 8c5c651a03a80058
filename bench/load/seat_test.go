package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/zk"
)

// A session that cannot be opened in time is reported with a remedy; other errors are reported unchanged.
func TestSessionsThatCannotBeOpenedInTimeAreToldWithARemedy(t *testing.T) {
	refused := fmt.Errorf("%w (%w)", context.DeadlineExceeded, ensemble.ErrNoTLS) // repeatedly, until the time was over
	for err, remedy := range map[error]bool{context.DeadlineExceeded: true, refused: false, errors.New("wrong password"): false} {
		pool := sessionPool{number: func(i int) int { return i }, dial: func(context.Context, int) (zk.Session, error) { return nil, err }}
		got := pool.connect(t.Context(), 3, func(int) {})
		if !errors.Is(got, err) || strings.Contains(got.Error(), "lower sessions") != remedy {
			t.Errorf("%v is told as %v", err, got)
		}
	}
}
