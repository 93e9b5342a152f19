"""Lines for the scratchpad, for what has changed, for digests and for questions to others, as chat
models write them, with the line that each means; `!` before it: the answer names it instead."""

LINES = """
→ what changed => since
→ what has changed since turn:abc => since turn:abc
→ what changed since step:3? => since step:3
→ since my last turn => since
→ what is new? => since
→ changes => since
→ overview => digest
→ digest of this tree => digest
→ digest tree:"The lake" => digest of tree:"The lake"
→ digest branch:a7x2 => digest of branch:a7x2
→ digest of a7x2 => digest of a7x2
→ what matters here? => digest of here
→ what changed between a7x2 and b3k9 => compare a7x2 b3k9
→ scratchpad "Marie counts boats." => scratchpad "Marie counts boats."
→ scratchpad append "Marie counts boats." => scratchpad "Marie counts boats." append
→ scratchpad add "Marie counts boats." => scratchpad "Marie counts boats." append
→ add to my scratchpad "Marie counts." => scratchpad "Marie counts." append
→ append to scratchpad "Marie counts." => scratchpad "Marie counts." append
→ scratchpad: Marie counts boats. => ! scratchpad "Marie counts boats."
→ scratchpad Marie counts boats. => ! scratchpad "Marie counts boats."
→ ask agent:"Editor" "Is it long?" => ask agent:"Editor" "Is it long?"
→ ask agent:Editor "Is it long?" at a7x2 wait => ask agent:editor "Is it long?" at a7x2 wait
→ ask agent:"Editor" at a7x2 "Is it long?" => ask agent:"Editor" "Is it long?" at a7x2
→ ask agent:"Editor" "Is it long?" and wait => ask agent:"Editor" "Is it long?" wait
→ ask "Ada" "Which end?" wait => ask "Ada" "Which end?" wait
→ ask Ada "Which end?" => ! ask agent:"Ada" "Which end?" | ask "Ada" "Which end?"
→ ask @Ada "Which end?" => ! ask "Ada" "Which end?"
→ invite Editor "Which end?" => ! ask agent:"Editor" "Which end?"
→ ask agent:Ada for three continuations of a7x2 => continue from a7x2 n:3 using agent:ada
→ clear the scratchpad => scratchpad clear
"""
