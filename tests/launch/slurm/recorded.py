"""What programs of Slurm 22.05.8 printed."""

NODES = """\
NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=3 CPUEfctv=7 CPUTot=7 CPULoad=5.38 AvailableFeatures=ib,big ActiveFeatures=ib,big Gres=gpu:tesla:2(S:0),mps:100 NodeAddr=127.0.0.1 NodeHostName=vm Port=17001 Version=22.05.8 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=8000 AllocMem=0 FreeMem=14399 Sockets=7 Boards=1 MemSpecLimit=500 State=MIXED ThreadsPerCore=1 TmpDisk=2000 Weight=1 Owner=N/A MCS_label=N/A Partitions=main,debug  BootTime=2026-11-22T03:23:20 SlurmdStartTime=2026-11-22T13:26:02 LastBusyTime=2026-11-22T13:26:03 CfgTRES=cpu=7,mem=8000M,billing=7 AllocTRES=cpu=3 CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
NodeName=n2 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=7 CPUTot=7 CPULoad=5.38 AvailableFeatures=(null) ActiveFeatures=(null) Gres=(null) NodeAddr=127.0.0.1 NodeHostName=vm Port=17002 Version=22.05.8 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=8000 AllocMem=0 FreeMem=14399 Sockets=7 Boards=1 State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=main  BootTime=2026-11-22T03:23:20 SlurmdStartTime=2026-11-22T13:26:02 LastBusyTime=2026-11-22T13:26:03 CfgTRES=cpu=7,mem=8000M,billing=7 AllocTRES= CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s Reason=Duplicate jobid [root@2026-11-22T14:01:08]
"""  # noqa: E501 - one node is one line
"""``scontrol --oneliner show node``; features, GPUs and MemSpecLimit were added to the first one."""

JOBS = """\
1|0|FAILED|1795356608|1795356618|n1|NonZeroExitCode|fairq-1.0-c97d3026
1|1|RUNNING|1795356608|NONE|n1|None|fairq-1.0-c97d3026
32|2|PENDING|N/A|N/A||ReqNodeNotAvail, UnavailableNodes:n1|fairq-1.16-0d12ab77
36|N/A|PENDING|1795356900|1795360500||Resources|fairq-2.0-99ab12cd
37|N/A|CANCELLED|1795356700|1795356700||None|my|own job
38|N/A|COMPLETING|1795356700|1795356703|n2|None|fairq-3.0-11ab12cd
"""
"""``squeue --array --states=all`` in fairq's format, with SLURM_TIME_FORMAT=%s."""

JOB = (
    "JobId=1 JobName=fairq-1 UserId=root(0) GroupId=root(0) JobState=FAILED Reason=NonZeroExitCode Requeue=1 "
    "Restarts=0 BatchFlag=1 ExitCode=7:0 RunTime=00:00:05 StartTime=1795353966 EndTime=1795353971 WorkDir=/tmp/a b\n"
)
