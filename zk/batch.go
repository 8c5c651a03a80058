package zk

import (
	"context"
	"iter"
)

// The limits of one transaction of InBatches: servers refuse requests above 1 MiB, and delay all other clients while they apply a large transaction.
const (
	batchOps   = 500
	batchBytes = 500_000
)

// InBatches carries out ops in order, in as few transactions as stay well below the servers' limits. After an error, the transactions before it have
// been applied; the one that failed has been applied either completely or not at all.
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
