# NVIDIA's nccl-tests, releases 2.0 to 2.19: the files of all collectives in src/, and src/common.cu (since 2.17
# src/util.cu). One line per GPU, then one per size: bytes, elements, type, operation and root, then time, algorithm
# bandwidth and bus bandwidth out of place, and the same in place, which is ignored. Used in addition to any other
# profile: a job may test its nodes before it trains.
profile nccl-tests
about   bandwidth of collectives, by NVIDIA's nccl-tests

# Its host name is printed up to the first dot.
rule    collective_host
match   # +Rank +\d+ (?:Group +\d+ )?Pid +\d+ on +(?P<name>[A-Za-z0-9_.-]+) device +\d+
example #  Rank  0 Group  0 Pid 895544 on     h100-2 device  0 [0002:00:01] NVIDIA H100 80GB HBM3
gives   name=h100-2
example [1,0]<stdout>:#  Rank 10 Group  0 Pid 739788 on inst-wth6t-ao-ol905 device  2 [0x51] NVIDIA A100-SXM4-40GB
gives   name=inst-wth6t-ao-ol905
# Releases before the option to split communicators.
example #   Rank  0 Pid  12345 on node005 device  0 [0x07] Tesla V100-SXM2-32GB
gives   name=node005

rule    collective
match   (?:^|[^\d.])(?P<bytes>\d+) +\d+ +(?:u?int\d+|half|float|double|bfloat16|f8e\dm\d|fp8\w*) +(?:(?:none|sum|prod|max|min|avg|mulsum) +)?(?:-?\d+ +)?[\d.]+(?:e\+\d+)? +(?P<algbw_gbs>[\d.]+) +(?P<busbw_gbs>[\d.]+) +(?:N/A|[\d.]+(?:e[+-]\d+)?)(?: |$)
example   8589934592     134217728     float    none      -1    45126  190.35  178.46      0    45098  190.47  178.57      0
gives   bytes=8589934592 algbw=190350000000 busbw=178460000000
# Results were not compared (-c 0).
example     33554432       8388608     float     sum      -1    210.5  159.40  278.95    N/A    208.6  160.86  281.50    N/A
gives   bytes=33554432 algbw=159400000000 busbw=278950000000
# With mpirun --tag-output.
example [1,0]<stdout>:  8589934592     134217728     float    none      -1    45126  190.35  178.46      0    45098  190.47  178.57      0
gives   bytes=8589934592 algbw=190350000000 busbw=178460000000
# Until 2.12 the last number was an error instead of the number of wrong values, and columns differed by collective.
example     33554432       8388608     float     sum           1221.6   27.47   51.50  0e+00   1219.3   27.52   51.60  0e+00
gives   bytes=33554432 algbw=27470000000 busbw=51500000000
example     33554432       8388608     float   1221.6   27.47   25.75  0e+00   1219.3   27.52   25.80  0e+00
gives   bytes=33554432 algbw=27470000000 busbw=25750000000
example   8589934592    2147483648     float       0    45126  190.35  190.35  0e+00    45098  190.47  190.47    N/A
gives   bytes=8589934592 algbw=190350000000 busbw=190350000000
example   8589934592     134217728     float    45126  190.35  178.46  0e+00    45098  190.47  178.57  0e+00
gives   bytes=8589934592 algbw=190350000000 busbw=178460000000
# A message without bytes has no bandwidth.
unlike             0             0     float     sum      -1    10.26     0.00     0.00      0    10.31     0.00     0.00      0
unlike  #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
unlike  # Avg bus bandwidth    : 178.514
