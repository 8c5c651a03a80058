package bench

import (
	"time"
)

const second = time.Second
