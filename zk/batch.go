package zk

import (
	"context"
	"iter"
)

// The largest transaction of InBatches: servers refuse what is above 1 MiB, and hold up everybody else while they carry out a large one.
const (
	batchOps   = 500
	batchBytes = 500_000
)

// InBatches carries out ops in order, in as few transactions as are well below what servers take. After an error those before it have been carried
// out, and of the one that failed all or nothing.
func InBatches(ctx context.Context, s Session, ops iter.Seq[Op]) error {
	var batch []Op
	bytes := 0
	for op := range ops {
		size := len(op.Path) + len(op.Data) + 64
		if len(batch) == batchOps || len(batch) > 0 && bytes+size > batchBytes {
			if _, err := s.Multi(ctx, batch...); err != nil {
				return err
			}
			batch, bytes = batch[:0], 0
		}
		batch, bytes = append(batch, op), bytes+size
	}
	if len(batch) == 0 {
		return nil
	}
	_, err := s.Multi(ctx, batch...)
	return err
}
