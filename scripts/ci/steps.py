# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""steps.py FILE: prints the shell steps of a composite action, or of a workflow's jobs, for bash.

It checks what a runner needs in the file (that is the syntax test) and prints the steps
of a run without a failure. ./rdma_mpa/... is this tree, as in the example.
"""
import os
import sys

import yaml

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def need(what, text):
    if not what:
        sys.exit(f"{sys.argv[-1]}: {text}")


def steps_of(document):
    """All steps, and whether each has to name its shell."""
    need(isinstance(document, dict), "no mapping")
    need(document.get("name"), "no name")
    if "runs" in document:
        need(document.get("description"), "an action needs a description")
        need(document["runs"].get("using") == "composite", "no composite action")
        return document["runs"]["steps"], True
    # YAML 1.1 reads the key "on" as true.
    need(document.get("on", document.get(True)), "a workflow needs its events: on")
    need(document.get("jobs"), "no jobs")
    for name, job in document["jobs"].items():
        need(job.get("runs-on"), f"{name} needs runs-on")
    return [step for job in document["jobs"].values() for step in job["steps"]], False


def check_use(use):
    """An action of this tree must exist; another one must have a version."""
    if use.startswith("./"):
        path = os.path.join(TOP, use.removeprefix("./rdma_mpa/"), "action.yml")
        need(use.startswith("./rdma_mpa/") and os.path.exists(path), f"no {use}")
    else:
        need(use.count("@") == 1, f"{use} has no version")


def main():
    need(len(sys.argv) == 2, "usage: steps.py FILE")
    with open(sys.argv[1], encoding="utf-8") as file:
        document = yaml.safe_load(file)
    steps, names_shell = steps_of(document)
    need(steps, "no steps")
    for step in steps:
        need(("run" in step) != ("uses" in step), f"{step}: one of run and uses")
        if "uses" in step:
            check_use(step["uses"])
            continue
        need(not names_shell or step.get("shell") == "bash", f"{step}: shell: bash")
        if "if" not in step:
            print(step["run"])


main()
