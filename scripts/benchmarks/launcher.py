"""Run a command, and print what it took as JSON: seconds, processor_seconds, peak_mib.

The system counts the memory of the process that starts a command as the command's own, so this one
stays small. Output of the command is ignored, except a traceback, which ends with exit code 1.
"""

import json
import os
import subprocess
import sys
import time

begin = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
if os.name == "nt":
    _, errors = child.communicate()
    found = {"seconds": time.perf_counter() - begin}
else:
    errors = child.stderr.read()
    usage = os.wait4(child.pid, 0)[2]
    found = {
        "seconds": time.perf_counter() - begin,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / 1024,
    }
if b"Traceback" in errors:
    sys.exit(errors.decode())
print(json.dumps(found))
