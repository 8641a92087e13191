"""Codes of messages: one for each kind of error or warning that one cure helps against.

A sentence gets its code from the words that it uses (``says``), so that it is written once, where the fault is found,
and carries its code wherever it goes: in exceptions, results, studies and logs. The hundreds are families: 1 and 2 the
model file, 3 the command, 4 the analysis, 5 files, 6 warnings. The first kind of a family whose words a sentence has is
its own; the last of each family takes the rest. Codes never change their meaning. ``mbsim explain CODE`` prints what
stands here, and ``docs/messages.md`` is made from it.
"""

import re
from typing import NamedTuple

MODEL, USAGE, ANALYSIS, FILE, WARNING = "model", "usage", "analysis", "file", "warning"


class Kind(NamedTuple):
    """A kind of message: cause, cure, and a sentence as an example."""

    code: str
    family: str
    title: str
    says: str  # pattern of the sentences
    cause: str
    cure: str
    example: str


KINDS: dict[str, Kind] = {}


def _family(name: str, *rows: tuple[str, str, str, str, str, str]) -> None:
    for code, title, says, cause, cure, example in rows:
        if code in KINDS:
            raise ValueError(f"{code} stands twice")
        KINDS[code] = Kind(code, name, title, says, cause, cure, example)


_family(
    MODEL,
    ("MB211", "combination of keys", r"^give ",
     "Of keys that belong together one is missing, or of keys that exclude each other several are stated.",
     "State the keys that the message names, and no others of them.",
     "give points or coordinate"),
    ("MB109", "impossible name", r"cannot be (a name|used in expressions)|has a meaning in expressions|exists already|can have that name",
     "A name holds characters that it cannot have, or stands for something else already.",
     "Begin with a letter; take letters, digits and `_`, and also `-` where the name does not stand in expressions.",
     "'lambda' cannot be used in expressions, where it is a reserved word; choose another name"),
    ("MB101", "unknown key", r"^unknown key |does not fit a row",
     "A mapping holds a key that nothing reads there.",
     "Correct the spelling; `mbsim explain SECTION` lists the keys of a section.",
     "unknown key 'axsi'; did you mean 'axis'?"),
    ("MB102", "missing key", r" is missing\b|stands without (an|')|has no value\b|^exerts nothing",
     "A key that the item needs is not stated.",
     "Add it; `mbsim explain SECTION.TYPE` lists the required keys.",
     "key 'bodies' is missing"),
    ("MB103", "unknown type or choice", r"^unknown type |^must be '|^must be [^;]*, not ['\d]",
     "A key that takes one of several words holds another one.",
     "Take one of the words that the message lists.",
     "unknown type 'hinge'; did you mean 'revolute'?"),
    ("MB104", "wrong kind of value",
     r"^must be an? |^must be (true|\{\})|is wanted here|numbers in a list"
     r"|must be written |must be a plain text|^must be (\[|one character)|not several$|takes plain arguments|both entries",
     "The value is not of the kind that the key takes: a text for a number, a number for a list.",
     "Write the kind of value that the message names; `mbsim explain KEY` shows an example.",
     "must be a list"),
    ("MB105", "wrong number of entries",
     r"^needs (at least )?\S+ (entr|parameter|value)|(values?|laws) (stand for|beside)|entries, not|has three entries|heights stand for|counts nothing"
     r"|takes .*argument|has \S+ entries|matrices have no|more modes, or|one law more|same count|shape \(|readings\b",
     "A list, vector or table has more or fewer entries than its place takes.",
     "Give as many entries as the message names.",
     "needs 3 entries, not 2"),
    ("MB106", "number out of range",
     r"must (be|lie) (greater|less|above|at least|at most|between)|must not be (negative|zero|less)|lies outside"
     r"|is negative|outside of|goes from|ends at|is not above|longer than th|shorter than|must increase|law is not continuous|increasing order"
     r"|lower bound is greater|(?<!there )(is|are) more than|is less than|is not after|reaches beyond|^end must lie|must differ|half a turn or more|argument of a table increases|too large|entries are made"
     r"|must (be )?\w+( \w+)*, is ",
     "The number is beyond what the key takes, or beyond a limit that the file itself states.",
     "Check its sign, its unit and its power of ten; numbers are in SI units, angles in radians unless `deg` is written.",
     "must be greater than zero, is -2"),
    ("MB107", "stated twice",
     r"stands? twice|stand twice|has the same values|is also (a|one|an)|given twice|is missing in the first instance|gives .* already"
     r"|made twice|already follows|has a law already|means something else|both (\w+ are|name|\{\}) |mass and inertia of the body stand beside"
     r"|of itself|cannot follow itself|defined by itself|contains itself|includes itself",
     "One thing is stated in two places or in terms of itself, or two things share a name.",
     "Leave one of them out, or rename it.",
     "key 'L' stands twice, first in line 4"),
    ("MB108", "unknown name",
     r"^unknown (?!unit)|^no body |there is no |^joint \{?\S* has no coordinate|has no part\b|has no column|has no field|is no node|is no element"
     r"|is an angle$|is not an? (angle|displacement)$|is no (body|coupling|table|\{\})|is a joint, not|not on body|is not on|no gradient is taken"
     r"|but of type|does not stand in|is not stored|is rigid$|name (a|the|it|parameters)|shows ",
     "The file refers to something by a name that it does not define, or that is of another kind.",
     "Correct the spelling, or define it; names of points of bodies are written `body.point`.",
     "unknown body 'krank'; did you mean 'crank'?"),
    ("MB112", "file of the model cannot be read", r"^cannot read|\.(csv|h5|vtu|msh|SID)|the table|is no (mesh|matrix)",
     "A table, mesh or included file that the model names cannot be read, or lacks what is asked of it.",
     "Names of files are relative to the model file; check name, columns and units.",
     "cannot read 'common.yaml': No such file or directory"),
    ("MB201", "mechanism cannot be assembled",
     r"stays? open|cannot be assembled|cannot be closed|closed loops? |loops? .*(form|forbids|clos)|loop closes|no position",
     "No position was found in which all loops of the mechanism close, or a loop has nowhere to be cut.",
     "Check lengths and points; give the joints of each loop initial values near to a position that closes "
     "(docs/tutorial/3-closed-loops.md).",
     "no start was found at which the mechanism is assembled: 'P3.x' stays open by 0.2 m"),
    ("MB121", "impossible direction or orientation",
     r"gives no direction|a direction|rotation|parallel|across|length \S+, must have|axis|axes|plane|directions|turn the model",
     "A vector gives no direction, or axes do not fit each other.",
     "Axes have length one and stand across or along each other as the message says; `x`, `y`, `z` exist in every body.",
     "the vector has length zero and gives no direction"),
    ("MB113", "unit", r"stand in SI units|stand without units|is not a unit|unknown unit",
     "Numbers stand in SI units, without the unit behind them; `unit` of a parameter names one without a factor.",
     "Write the number in the unit that the message names; angles may be written in degrees, as `30 deg`.",
     "numbers stand in SI units, and 'mm' is 0.001 m; state the value in m"),
    ("MB110", "expression cannot be read",
     r"expression|stand without units|^character .* cannot|operator|comparison|has no partner|only functions can|law or an unknown function"
     r"|cannot stand|vectors? (and|are|of|has)|by a vector|not a real number|division by zero|unit |component|% and //"
     r"|cannot be added|no power|is a parameter$",
     "A formula has a syntax error, a value that is no real number, or mixes vectors with numbers.",
     "Formulas take names of parameters and constants, numbers, + - * / **, comparisons and the functions of docs/model-file.md.",
     "expression cannot be read: it ends too early"),
    ("MB111", "YAML cannot be read",
     r"YAML|cannot be read|tab stands|stands without quotes|second document|alias|tag |merge keys|nested|begins no text|control character|the files? (is|are) "
     r"|more than|is not a key$|errors are listed|version of",
     "The text is not YAML 1.2 as mbsim reads it, or no mapping of sections.",
     "Indent by blanks, put a blank behind each colon, quote texts that begin with a brace; begin the file with `mbsim: 1`.",
     "a tab stands in the indentation; indent by blanks"),
    ("MB120", "impossible mass or inertia", r"mass|inertia|moment|density|no shape to deform",
     "A mass or inertia cannot belong to a body, or something that moves has none.",
     "State masses in kg and inertias in kg m^2 about the centre of mass, or give the body a shape.",
     "the inertia violates the triangle inequalities; no principal moment may exceed the sum of the other two"),
    ("MB202", "initial values contradict each other",
     r"independent|at t = 0|initial|contradict|depends? on other|determine|elsewhere|dependent",
     "More initial positions or velocities are stated as certain than the mechanism has freedoms, or they disagree.",
     "Mark with `independent: true` as many coordinates as `mbsim info` shows as mobility; the others are guesses.",
     "dependent coordinates are declared independent, 1 too many: B.angle"),
    ("MB203", "body is not connected", r"not connected|to the ground",
     "No chain of joints leads from the ground to the body.",
     "Add a joint; a body that flies freely has one of type `floating`.",
     "body 'rod' is not connected to the ground by joints"),
    ("MB210", "not available in this combination", r".",
     "A key does not fit the type of analysis, formulation, joint or body that it stands with, or another key.",
     "Follow the hint behind the semicolon: leave out one of both, or take the named alternative.",
     "inverse dynamics has no multipliers; leave it out"),
)  # fmt: skip
_family(
    USAGE,
    ("MB304", "an extra is not installed", r"pip install|not installed|needs (the package|meshio|pandas|matplotlib|\{\})|needs \S+ and",
     "The command needs a library that is not part of the basic installation.",
     "In a clone: `pip install '.[plot]'`, or the extra that the message names.",
     "drawing needs matplotlib; in a clone of mbsim install it with: pip install '.[plot]'"),
    ("MB305", "a key cannot be set", r"--set|cannot be (set|saved)|cannot be saved|saved model",
     "`--set` names a key that does not exist or cannot change, or a value cannot be written back into the file.",
     "Write paths as `analysis.step`, `bodies.rod.mass`, `gravity.y`; entries of lists count from 0.",
     "--set bodies.rodd.mass=1: bodies has no 'rodd'; did you mean 'rod'?"),
    ("MB306", "missing argument or section", r"missing|^name (a|an|model|files)|is needed|: name",
     "The command lacks an argument, or the model a section.",
     "Add it; `mbsim COMMAND --help` shows the usage.",
     "name model files, or give --all to compile for any model"),
    ("MB302", "value of an option",
     r"loads takes |must (be|have) |invalid value|is not a valid|ends? in |has shape|is not in the range|whole number|requires an argument"
     r"|expects",
     "An option or argument has a value that it cannot take.",
     "Write a value of the form that the message states.",
     "--step must be a positive number of seconds, or auto, not 'fast'"),
    ("MB301", "unknown name on the command line",
     r"^unknown|is unknown|(^|: )no \w+ '|there (is|are) no (objective|scale|deriv|body|point|force|history|fit) |no result holds|^no such|has no (field|force|law|\{\})|^there is|the model has|is neither|can be named",
     "A command names a parameter, sensor, study, option or key that does not exist.",
     "Correct the spelling; `mbsim info MODEL`, `mbsim plot RESULT --list` and `--help` list what exists.",
     "unknown parameter 'L_A'; did you mean 'L_A1'?"),
    ("MB303", "options that do not go together",
     r"leave|twice|give one of|give --(?!all)|means nothing|has no effect|is for |has no use|, and has no|nothing to|takes others"
     r"|would hold|by name and as|has its own|comes once|only by",
     "Two options exclude each other, or one has no meaning for this model or command.",
     "Leave one of them out.",
     "--csv and --grid are two studies; give one of them"),
    ("MB310", "not available in this combination", r".",
     "The option or name asks for something that this model, kind of analysis or result does not have.",
     "Take the alternative that the message names.",
     "natural coordinates have no second derivatives; take coordinates of joints"),
)  # fmt: skip
_family(
    ANALYSIS,
    ("MB407", "out of memory", r"memory",
     "The analysis needs more memory than there is.",
     "Take fewer parameters or bodies, a longer `output_interval`, or `--memory` for an adjoint.",
     "there is not enough memory; a smaller model, fewer parameters or fewer bodies need less"),
    ("MB409", "forces that read multipliers", r"depend on multipliers",
     "Forces read multipliers, or friction the loads of a joint, and this analysis does not solve for both together.",
     "Run forward dynamics from a declared start, or give forces and friction without multipliers and loads.",
     "an analysis of small motions does not solve for forces that depend on multipliers, or friction on loads"),
    ("MB408", "search found nothing", r"modes? .*(settle|converge)|no design|has no gradient|there (is|are) no mode",
     "An optimisation, or a search for modes, ended without what it looks for.",
     "Look at limits and starting values; ask for fewer modes.",
     "no design was found within the limits: the best has mass 3, which is to be at most 2"),
    ("MB403", "Newton's iteration does not converge", r"converge|iteration|short enough|max_steps|at this pace|accuracy",
     "A step of the integrator was not solved, most often because it is too long for a stiff force or a hard contact.",
     "Take a shorter step (`--step`), soften what is very stiff, or look at the motion up to the time that is named.",
     "Newton's iteration did not converge in the step to t = 0.31 s"),
    ("MB404", "numbers overflow", r"not (a )?finite|overflow|too large|undefined|not a real|no finite|are no numbers",
     "A coordinate, force or expression became infinite or no number.",
     "Look at the named force at the named time: divisions by zero, roots of negative numbers, wrong powers of ten.",
     "the torque of A.angle at t = 0.1 s is not a finite number; the motion or a load overflows there"),
    ("MB406", "constraints contradict each other", r"contradict|locks|laws? |stay assembled|forces of constraints",
     "Prescribed motions and loops ask for different motions at one time.",
     "Prescribe fewer coordinates, or correct their functions of time.",
     "the forces of constraints at t = 1 s contradict each other"),
    ("MB401", "start cannot be assembled", r"stays open|no start was found|assembled",
     "No position near the stated initial values closes all loops.",
     "Check lengths; state initial values nearer to a position that closes (docs/tutorial/3-closed-loops.md).",
     "no start was found at which the mechanism is assembled: 'P3.x' stays open by 0.2 m"),
    ("MB405", "no equilibrium", r"equilibrium|rest",
     "No position was found where all forces balance, or the forces do not determine one.",
     "Start nearer to the equilibrium, or hold free coordinates by a spring, a constraint or the key `hold`.",
     "no equilibrium was found: the motions that no force resists differ from one position to the next"),
    ("MB402", "singular equations", r"singular|rank|not determined|no mass or inertia resists|cannot be found",
     "The equations have no unique solution: a coordinate without inertia, or constraints that depend on each other.",
     "Give each body that moves a mass and an inertia; `mbsim info` lists redundant constraints.",
     "the initial accelerations cannot be found: the mass matrix is singular; is there a coordinate that no mass or "
     "inertia resists?"),
    ("MB410", "analysis failed", r".",
     "The model is valid, and the analysis could not continue.",
     "The message names time and place; `mbsim animate` shows the motion up to there.",
     "the search ended at a limit of evaluations"),
)  # fmt: skip
_family(
    FILE,
    ("MB501", "file cannot be read", r"^(?!.*cannot (write|make|remove)).*(cannot (read|be read)|there is no file|no such file|missing|is a directory)",
     "The file does not exist, may not be read, or is of another kind.",
     "Check the path and the rights.",
     "cannot read m.yaml: No such file or directory"),
    ("MB502", "file cannot be written", r"cannot (write|make|remove)|no space|kept|may not be written",
     "The folder does not exist, may not be written in, or the disk is full.",
     "Name another place with `-o`, or make room.",
     "cannot write out/a.h5: there is no folder out"),
    ("MB503", "file would be overwritten",
     r"exists|is a file that|is the (model|result|robot) itself|is a part of|replace|is a folder|not a regular file|appeared|is there and",
     "The output is a file that mbsim did not write, or that the command itself reads.",
     "Name another output with `-o`; `--force` overwrites a file of another kind.",
     "m.yaml is a file that the model reads; name another file with -o"),
    ("MB504", "file is damaged or incomplete", r"damaged|incomplete|stored|\bplan\b|partial|not what|collected",
     "A result or study was cut off, changed or written by another version.",
     "Compute it again; `mbsim sweep retry DIR` repeats cases of a study.",
     "r.h5 is not an mbsim result, or is damaged"),
    ("MB506", "robot that is stated wrongly",
     r"^[^:]+: (link|joint|frame) |parent and child|has macros|must list joints|spherical or revolute|type, places, axes"
     r"|two bodies with|have the form|no joint is called|the robot has|axes and places|three numbers|: \w+ of \S+ is not finite",
     "A file of a robot, or of the joints that close its loops, contradicts its format.",
     "Correct the link or joint that the message names.",
     "arm.urdf: joint elbow stands twice"),
    ("MB505", "file lacks something",
     r"has no|holds? (no|positions|numbers)|columns?|lacks|has (cells|points)|differ in length|not symmetric|points?|matrix|mesh",
     "A table, mesh or matrix lacks columns, points or numbers that are asked of it.",
     "Compare the file with the form that the message states.",
     "run1.csv has no column 't'"),
    ("MB510", "input or output failed", r".",
     "The system, a worker or a cluster reported an error.",
     "The message repeats what the system said.",
     "no Dask cluster answers at tcp://a:1"),
)  # fmt: skip
_family(
    WARNING,
    ("MB611", "former name", r"is now called|deprecat",
     "An option or key has a new name; the former one still works.",
     "Write the new name.",
     "--method is now called --sensitivity, and will go with the next version"),
    ("MB602", "constraints or energy drift", r"drift by|violated|energy and work|feeds energy|converged to",
     "Constraints, energy or gradients are less accurate than they should be.",
     "Take a shorter step or a tighter tolerance; check whether forces jump.",
     "energy and work differ by 2.0% of the energy that moves; try a shorter step"),
    ("MB603", "singular position", r"singular|passes a|other branches|\brank\b",
     "The mechanism passes a position in which constraints lose rank; the motion could branch there.",
     "Change initial values or lengths a little; gradients across that time are not meaningful.",
     "the mechanism passes a singular position before t = 1.2 s, where P3.x loses rank"),
    ("MB604", "forces of constraints are not unique", r"redundant|undetermined|multipliers|not determined|depends on other",
     "Constraints depend on each other, so that loads can be shared in many ways.",
     "Free what is held twice, or read components that are determined. `mbsim info` lists redundant constraints, and those that "
     "always hold, as in planar loops.",
     "redundant constraints leave R.force.z undetermined; free what is held twice"),
    ("MB608", "unstable equilibrium", r"unstable|not steady",
     "Forces balance, but the position does not last.",
     "Start from another position if a stable one was meant.",
     "the equilibrium is unstable: the smallest disturbance drives the mechanism away from it"),
    ("MB612", "smooth maximum or minimum", r"is a smooth \w+, ",
     "With a sharpness, an objective of type maximum or minimum is smooth in the motion, and so lies beside the extreme value.",
     "Take the sharpness that the message names, or none: the objective then is the extreme value itself.",
     "objective peak is a smooth maximum, 1.2 m; the largest value is 1.3 m; a sharpness of 100 comes nearer"),
    ("MB613", "loops close in several positions", r"close in several positions|closes far from zero",
     "A loop can be assembled in more than one way, and the file does not say in which.",
     "State a guess of one coordinate of the loop under `initial`, and look at the start by `mbsim view MODEL`.",
     "the loops close in several positions: the start is at the nearest of 2 that were found"),
    ("MB605", "derivative does not exist", r"no derivative|derivatives? .*(jump|not exist|NaN)|grazed|touched|the law (jumps|begins)|accelerations jump|smooth",
     "A stop, contact or function of time changes abruptly, so that a derivative jumps or does not exist.",
     "Smooth the function, or read the derivative as that of one side.",
     "d F / d L: the law jumps at t = 0.2 s; the derivative is that of the side behind"),
    ("MB601", "discretisation error",
     r"discretisation error|estimated error|do not follow the motion|errors of gradients|resolve|try (a|\{?\S*) ?(shorter )?step"
     r"|shorter step|round-off",
     "The time step is long for the motion; numbers may have larger errors than they should.",
     "Take the step that the message names, or `--step auto`.",
     "steps of 0.01 s leave the motion of A.angle an estimated error of 2 %; try a step of 0.004 s, or step: auto"),
    ("MB606", "initial values were changed", r"closing the loops|stated (value|angular)|initial|not used",
     "Closing the loops moved a coordinate away from the value that the file states.",
     "`independent: true` keeps the value; `independent: false` marks it as a guess and silences this.",
     "joint B is cut: its stated angular velocity is not used"),
    ("MB607", "large deformation", r"deforms|bends|stiffen|mode[s ]|frequency|shapes",
     "A flexible body leaves the range in which linear shapes describe it, or its data are doubtful.",
     "Add modes or `stiffening` terms, or take smaller loads.",
     "body 'beam' deforms by more than a tenth of its size, first at t = 0.1 s"),
    ("MB609", "search has not converged", r"converged|optimality conditions|search|chi-square|sigma|correlat|residual",
     "An optimisation or fit ended before it met its tolerance, or measurements do not fit the model.",
     "Allow more evaluations, or look at bounds, sigmas and starting values.",
     "the search has not converged: the limit of evaluations was reached"),
    ("MB614", "entry without effect", r"nothing (reads|uses|changes|moves)|exerts nothing",
     "The file states something that the motion does not depend on.",
     "Use it where it was meant to act, or leave it out.",
     "nothing uses this law; it acts where its name stands"),
    ("MB610", "doubtful number", r"are \S+ turns|degrees stand|negative|gyration|lies from the origin|free fall|rads?\b|stands for|larger than|smaller than|unusual|bounds|doubt|added or compared",
     "A number of the file is possible and unlikely, such as a density of a gas or an angle of 90 rad.",
     "Check its unit; angles are in radians unless `deg` is written.",
     "in 2 of 10 cases 'L' lies outside of its bounds 1 and 2"),
    ("MB620", "remark", r".",
     "Something deserves a look; the result is valid.",
     "Read the message.",
     "4 workers for 2 processors, which take turns"),
)  # fmt: skip

INTERNAL = Kind(
    "MB900", "internal", "defect of mbsim", r".", "The program failed in a way that no input should cause.",
    "Report it with the model file and what `MBSIM_DEBUG=1` shows.", "internal error, a defect of mbsim (KeyError: 'a')",
)  # fmt: skip
KINDS[INTERNAL.code] = INTERNAL
_PLACE = r"^(?:\S+\.ya?ml[^ ]*: )(?:[\w.\[\]]+: )?"  # that sentences on model files begin with
_QUOTED = r"(?<!\w)'[^']*'(?!\w)"  # names of the file


def kind_of(sentence: str, family: str) -> Kind:
    """The kind of a message."""
    plain = re.sub(_QUOTED, "'x'", re.sub(_PLACE, "", sentence.removeprefix("warning: ")))
    return next(kind for kind in KINDS.values() if kind.family == family and re.search(kind.says, plain, re.IGNORECASE))


def code_of(sentence: str, family: str) -> str:
    """Code of a message of a family."""
    return kind_of(sentence, family).code
