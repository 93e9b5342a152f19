"""60 lines as a chat model writes them for windows, stashes, tasks, augments, documents and links,
in a world with window #1 on a7x2 (labelled frame), #2 on §Cast of doc:"notes", the stash plan, the
tasks t1 and t2 and the augment craft/endings. Each with the line that it means; several, with a
bar between them, where more than one may be meant. `!` before it: it is too much of a guess, so
it must not run, and the answer names it.

The first 27 were refused unhelpfully or lost in a long test by a model; 33 are of the same kind.
"""

HEARD = """
→ pin a7x2 to my context => open a7x2 keep
→ unpin #1 => ! hide #1 | close #1
→ hide windows 1 and 2 => hide #1 #2
→ hide everything except #1 => ! hide all and → show #1
→ show hidden windows => memory windows
→ close the window on a7x2 => drop a7x2
→ write to doc "notes", section Cast: Marie counts. => ! at:§Cast | replace:§Cast
→ show “frame” => show label:"frame"
→ remember: the boats are the key => ! todo add "the boats are the key" | scratchpad
→ [x] t1 => todo done t1
→ append to doc:"notes" "Marie counts." => write doc:"notes" append "Marie counts."
→ forget stash "plan" => ! drop stash:"plan"
→ todo add: ⏎- read the boats⏎- count them⏎← => ! todo add "read the boats" "count them"
→ tick t1 => todo done t1
→ augment load "craft/endings" => augment load craft/endings
→ write doc:"notes" §Cast "Marie counts." => ! at:§Cast | replace:§Cast
→ write doc:'notes' append 'Marie counts.' => write doc:"notes" append "Marie counts."
→ delete section Cast from doc:"notes" => ! doc:"notes" remove:§Cast | view doc:"notes" §Cast
→ move §Cast after §Intro in doc:"notes" => ! doc:"notes" move:§Cast | view doc:"notes" §Cast
→ create document "ideas" with "Some text." => ! write doc:"ideas" new "Some text."
→ replace lines 3-5 of #2 with "A line." => edit #2 lines:3-5 "A line."
→ search for ‘boats’ in the whole grove => find "boats" in:grove
→ collapse everything => collapse all
→ link c4m2 to b3k9 (contradicts), confidence 0.7 => ! as:contradicts confidence:0.7
→ edit b3k9 "Marie" to "Mary" => edit b3k9 replace:"Marie" with:"Mary"
{"command": "open", "args": {"ref": "a7x2"}} => ! open a7x2
<tool_call>{"name": "view", "arguments": {"ref": "b3k9"}}</tool_call> => ! view b3k9
"""

ALIKE = """
→ open a7x2 and keep it => open a7x2 keep
→ pin #1 => open #1 keep
→ unpin a7x2 => ! drop a7x2
→ hide #1, #2. => hide #1 #2
→ hide window 1 => hide #1
→ hide “frame” => hide label:"frame"
→ close all windows => close all
→ show all => show all
→ show everything => show all
→ show #2 full => show #2 full
→ list windows => memory windows
→ refresh windows 1 and 2 => refresh #1 #2
→ recall 'plan' => recall "plan"
→ recall ‘plan’ => recall "plan"
→ stash 'plan' 'Read the boats.' => stash "plan" "Read the boats."
→ delete the stash "plan" => ! drop stash:"plan"
→ todo done: t1 => todo done t1
→ todo done t1, t2 => todo done t1 t2
→ mark t1 as done => todo done t1
→ check off t2 => todo done t2
→ untick t1 => todo toggle t1
→ todo add: read the boats => ! todo add "read the boats"
→ augment unload 'craft/endings' => augment unload craft/endings
→ append to document "notes": Marie counts. => ! write doc:"notes" append "Marie counts."
→ view doc "notes" => view doc:"notes"
→ create a new document called "ideas" => ! write doc:"ideas" new
→ view doc:"notes" §the horn => ! view doc:"notes" §"the horn"
→ find "clock" in:"loom_demo" max:3 => find "clock" in:tree:"loom_demo" max:3
→ find ‘boats’ => find "boats"
→ view ‘b3k9’ => view b3k9
→ bookmark a7x2 label:"key" => bookmark a7x2 "key"
→ link c4m2 to b3k9 as:supports, confidence 0.7 => link c4m2 to b3k9 as:supports confidence:0.7
→ make document "ideas": Some text. => ! write doc:"ideas" new "Some text."
"""
