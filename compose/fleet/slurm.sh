#!/bin/bash
# One run of profile locks by 3 shares. Start it with: sbatch FILE
# zkbench has to be in the PATH of every node. Results are in the directory results, from where sbatch was called.
#SBATCH --job-name=zkbench
#SBATCH --nodes=3
#SBATCH --ntasks=3
#SBATCH --ntasks-per-node=1
#SBATCH --no-requeue
export ZKBENCH_MEET=zk://coord:2181/bench-"$SLURM_JOB_ID"
exec srun --nodes=3 --ntasks=3 --ntasks-per-node=1 --kill-on-bad-exit=0 \
  bash -c 'ZKBENCH_SHARE="index:$SLURM_PROCID/$SLURM_NTASKS" exec "$0" "$@"' zkbench run locks --servers zk1:2181,zk2:2181,zk3:2181 --quiet
