"""Lines that were refused with a hint that misleads, with the line that runs, or after `!` what the
answer names: several with a bar between them, where more than one may be meant."""

LINES = """
→ write doc:"notes" "Marie counts." => ! write doc:"notes" append "Marie counts."
→ write to doc:"notes" "Marie counts." => ! write doc:"notes" append "Marie counts."
→ write doc:"notes": Marie counts. => ! write doc:"notes" append "Marie counts."
→ write doc:"notes" with "Marie counts." => ! write doc:"notes" append "Marie counts."
→ write doc:"notes" => ! write doc:"notes" append, the text in the lines below
→ write "Marie counts." to doc:"notes" => ! write doc:"notes" append "Marie counts."
→ replace "Marie" with "Mary" in doc:"notes" => ! write doc:"notes" replace:"Marie" with:"Mary"
→ insert "Marie counts." after §Cast in doc:"notes" => ! write doc:"notes" "Marie counts." at:§Cast
→ write doc:"notes" at:§the horn "It blows." => ! write doc:"notes" "It blows." at:§"the horn"
→ view doc:"notes" §the horn full => ! view doc:"notes" §"the horn" full
→ embed a7x2 in doc:"notes" => ! write doc:"notes" append "![[a7x2]]"
→ hide #1,#2 => hide #1 #2
→ hide #1,2,3. => hide #1 #2 #3
→ hide 5 => hide #5
→ todo done 1 => todo done t1
→ switch to: a7x2 => switch to a7x2
→ annotate k2p3: odd => ! annotate k2p3 "odd"
→ tag y7c9 and zz99 #x => ! tag REF #name
→ view a7x2 b3k9 => view a7x2 | view b3k9
→ expand a7x2 supports => ! expand supports of a7x2
→ drop pin:a7x2 => drop a7x2
→ undo that => ! → undo
→ help me => help me
→ bookmark a7x2 label:"key" => bookmark a7x2 "key"
→ show everything => show all
→ find "boats" open keep => find "boats" open keep
→ edit h4y7 "Marie" to "Mary" => edit h4y7 replace:"Marie" with:"Mary"
"""
