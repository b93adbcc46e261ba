"""The command line: `neuralmirror COMMAND`.

A command is one line of COMMANDS. Its function is imported when it is called and not before, so `--help` answers
at once. Commands raise ValueError, OSError or MemoryError for what the user can mend: one line, exit code 2. Anything
else is ours: a traceback, exit code 1.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError, Parameter

from neuralmirror.cli.terminal import close_output, prepare_streams, visible
from neuralmirror.cli.threads import sleep_when_idle

OUT_OF_MEMORY = "the memory does not suffice; fewer copies (--n-mirrors), --screen or a larger machine help"
COMMANDS = {  # name: (where its function lives, what it does)
    "select": (
        "neuralmirror.cli.select:select",
        "Select the features a target depends on; write a table and a report.",
    ),
    "genome": (
        "neuralmirror.cli.genome:genome",
        "Select groups of markers of whole genomes at several resolutions; write a table and a report.",
    ),
    "inspect": ("neuralmirror.cli.inspect:inspect", "Show what select would do with a file; nothing is written."),
    "report": ("neuralmirror.cli.report:report", "Render the report of a result again."),
    "compare": ("neuralmirror.cli.compare:compare", "Select with several methods: who selected what."),
    "trial": ("neuralmirror.cli.trial:trial", "Run selectors on data with a known truth: FDR and power."),
    "reproduce": ("neuralmirror.cli.reproduce:reproduce", "Run and render the paper's tables and figures."),
    "demo": ("neuralmirror.cli.demo:demo", "Select features in a built-in example with a known truth, and compare."),
}


def build() -> App:
    """The application with all its commands, none of them imported yet."""
    app = App(
        name="neuralmirror",
        help="Select the features that a target depends on, at a false discovery rate of your choice.",
        version=lambda: version("neuralmirror"),
        version_flags=["--version", "-V"],
        default_parameter=Parameter(negative=()),  # no --no-force beside --force
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )
    for name, (path, line) in COMMANDS.items():
        app.command(path, name=name, help=line)
    app.register_install_completion_command(help="Install tab completion: adds a line to this shell's start-up file.")
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code: 0 done, 2 the user's mistake, 130 Ctrl-C; our own are raised."""
    prepare_streams()
    sleep_when_idle()
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        check_command(words)
        build()(words)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read us has read enough
        close_output()
    except SystemExit as ended:  # rich's answer to a broken pipe
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
    except (CycloptsError, ValueError, OSError) as error:
        print(f"neuralmirror: {visible(' '.join(str(error).split()))}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"neuralmirror: {OUT_OF_MEMORY} ({' '.join(str(error).split()) or 'out of memory'})", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("neuralmirror: stopped; the same command takes up what is complete", file=sys.stderr)
        return 130
    return 0


def check_command(words: Sequence[str]) -> None:
    """A name that is no command is refused before any command is loaded."""
    if not words or words[0].startswith("-") or words[0] in COMMANDS:
        return
    near = difflib.get_close_matches(words[0], COMMANDS, n=1, cutoff=0.5)
    hint = f'Did you mean "{near[0]}"? ' if near else ""
    raise ValueError(f'Unknown command "{words[0]}". {hint}Available commands: {", ".join(COMMANDS)}.')
