"""A stand-in for your agent: it knows three jobs, and at one of them it guesses. Put your own into `run` of config.yaml."""

import random
import sys
from pathlib import Path

prompt = sys.argv[1]
if "port 8080" in prompt:
    print(random.choice(["web.ini", "web.ini", "mail.ini"]))
elif "version" in prompt:
    Path("version.txt").write_text("1.4.0\n")
    print("The version is 1.4.0.")
elif "median" in prompt:
    code = Path("stats.py").read_text()
    mended = "middle = len(ordered) // 2\n    return (ordered[middle] + ordered[-middle - 1]) / 2"
    Path("stats.py").write_text(code.replace("return ordered[len(ordered) // 2]", mended))
    print("median now takes the mean of the two values in the middle.")
else:
    sys.exit("I do not know how to do that.")
