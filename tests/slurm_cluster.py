# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on the loopback interface: munged, slurmctld and two slurmd, with everything they write in one folder. No systemd, nothing outside it."""
import os
import pathlib
import shutil
import socket
import subprocess

from neurolens_cli import wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
NODES = ("n1", "n2")
CONFIG = """ClusterName=neurolens
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=1000,batch_sched_delay=0,bf_interval=1
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
SlurmdLogFile={folder}/slurmd.%n.log
ReturnToService=2
KillWait=1
MinJobAge=300
GresTypes=gpu
{nodes}
PartitionName=main Nodes={names} Default=YES MaxTime=60 State=UP OverSubscribe=NO
"""


def free_ports(count):
    """Ports that nobody uses; kept open together, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def missing():
    """Why a cluster cannot be started here; empty: it can."""
    os.environ["PATH"] = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    gone = [name for name in PROGRAMS if not shutil.which(name)]
    if gone:
        return f"Slurm is not installed ({', '.join(gone)})"
    return "" if os.geteuid() == 0 else "slurmd and slurmctld need root"


class Cluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = {}
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self):
        host = socket.gethostname().split(".")[0]
        controller, *ports = free_ports(1 + len(NODES))
        nodes = "\n".join(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=100 Gres=gpu:fake:1 State=UNKNOWN"
                          for name, port in zip(NODES, ports))
        (self.folder / "slurm.conf").write_text(CONFIG.format(host=host, controller=controller, folder=self.folder, nodes=nodes, names=",".join(NODES)))
        (self.folder / "gres.conf").write_text("".join(f"NodeName={name} Name=gpu Type=fake File=/dev/null\n" for name in NODES))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o600)
        (self.folder / "state").mkdir()
        for name in NODES:
            (self.folder / f"spool.{name}").mkdir()
        self.run("munged", "munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key", f"--socket={self.folder}/munge.socket",
                 f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed", "--num-threads=2")
        wait_until((self.folder / "munge.socket").exists, "munged", self.processes["munged"])
        self.run("slurmctld", "slurmctld", "-D", "-f", self.folder / "slurm.conf")
        for name in NODES:
            self.run(name, "slurmd", "-D", "-N", name, "-f", self.folder / "slurm.conf")
        wait_until(lambda: self.ask("sinfo", "--noheader", "--Node", "--format=%N %t").split() == ["n1", "idle", "n2", "idle"], "both nodes to be idle",
                   self.processes["slurmctld"])

    def run(self, name, *command):
        log = open(self.folder / f"{name}.out", "ab")
        self.processes[name] = subprocess.Popen(list(map(str, command)), env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        log.close()

    def ask(self, *command):
        return subprocess.run(command, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False, timeout=600).stdout

    def stop(self):
        subprocess.run(["scancel", "--user=root"], env={**os.environ, **self.environment}, capture_output=True, check=False, timeout=60)
        for name in (*NODES, "slurmctld", "munged"):
            process = self.processes.pop(name, None)
            if process is None:
                continue
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
