"""400 replies as strong models write them, each judged by hand before it was tried.

A line is `reply => verdict`; `⏎` stands for a line feed. The verdicts of a section:

* RUNS: the canonical lines that run, `|` between them.
* NEAR: nothing runs; the reply names this line to write.
* REFUSED: nothing runs; the refusal's hint contains this.
* TEXT: the reply is text, without a word about it.
"""

RUNS = """
→ view m5w7 => view m5w7
→view m5w7 => view m5w7
-> view m5w7 => view m5w7
 → view m5w7 => view m5w7
→ View m5w7 => view m5w7
→ VIEW M5W7 => view m5w7
→ view Node:m5w7. => view m5w7
→ view node:m5w7 => view m5w7
→ view m5w7. => view m5w7
→ view m5w7, => view m5w7
→ view m5w7; => view m5w7
→ view m5w7: => view m5w7
→ view "node:m5w7" => view m5w7
→ view "m5w7" => view m5w7
→ view [m5w7] => view m5w7
→ view [m5w7]. => view m5w7
→ view `m5w7` => view m5w7
→ view **m5w7** => view m5w7
→ `view m5w7` => view m5w7
→ **view** m5w7 => view m5w7
→ view: m5w7 => view m5w7
→ view(m5w7) => view m5w7
→ view("m5w7") => view m5w7
→ /view m5w7 => view m5w7
→ view id:m5w7 => view m5w7
→ view node=m5w7 => view m5w7
→ view node_id=m5w7 => view m5w7
→ view the node m5w7 => view m5w7
→ view this node => view here
→ view here => view here
→ view root => view root
→ view parent => view parent
→ view m5w7 full => view m5w7 full
→ view m5w7 (full) => view m5w7 full
→ view m5w7 --full => view m5w7 full
→ view m5w7, full => view m5w7 full
→ view full m5w7 => view m5w7 full
→ view m5w7 in full => view m5w7 full
→ view m5w7 as:full => view m5w7 full
→ view m5w7 full:true => view m5w7 full
→ view m5w7 summary => view m5w7 summary
→ view m5w7 with annotations => view m5w7 with-annotations
→ view m5w7 as prose => view m5w7 as:prose
→ view m5w7 format:prose => view m5w7 as:prose
→ view m5w7 lines 3-9 => view m5w7 lines:3-9
→ view m5w7 lines 3 to 9 => view m5w7 lines:3-9
→ view m5w7 full part:2 => view m5w7 part:2 full
→ view the first 3 lines of m5w7 => view m5w7 head:3
→ view branch a8p5 => view branch:a8p5
→ view branch:a8p5 => view branch:a8p5
→ view the branch a8p5 => view branch:a8p5
→ view branch here => view branch:here
→ view a8p5-m5w7 => view a8p5-m5w7
→ view a8p5..m5w7 => view a8p5-m5w7
→ view a8p5...m5w7 => view a8p5-m5w7
→ view a8p5–m5w7 => view a8p5-m5w7
→ view m5w7 and g9a3 => view m5w7|view g9a3
→ view m5w7 & g9a3 => view m5w7|view g9a3
→ view m5w7, g9a3 => view m5w7|view g9a3
→ view m5w7, g9a3 and n3m5 => view m5w7|view g9a3|view n3m5
→ view both m5w7 and g9a3 => view m5w7|view g9a3
→ view m5w7 and g9a3 full => view m5w7 full|view g9a3 full
→ read m5w7 => view m5w7
→ show m5w7 => view m5w7
→ show me m5w7 => view m5w7
→ see m5w7 => view m5w7
→ look => view here
→ look at m5w7 => view m5w7
→ look around => view here
→ open m5w7 => open m5w7
→ pin m5w7 => open m5w7 keep
→ pin #14 => open #14 keep
→ show #14 => show #14
→ show me #14 => show #14
→ hide #14 and #15 => hide #14 #15
→ hide windows #14 #15 => hide #14 #15
→ close #14 => close #14
→ resize window #14 to lines 2-9 => resize #14 lines:2-9
→ refresh windows #14 and #15 => refresh #14 #15
→ hide all => hide all
→ recall "idea" => recall "idea"
→ stash "idea" "A lamp." => stash "idea" "A lamp."
→ stash "idea" content-of:m5w7 => stash "idea" content-of:m5w7
→ augment list => augment list
→ augment load style/plain => augment load style/plain
→ augment load style/* exclude:style/old => augment load style/* exclude:style/old
→ augment unload * => augment unload *
→ augment pin style/plain => augment pin style/plain
→ todo => todo
→ todo list => todo list
→ todo add "Check the lamp" => todo add "Check the lamp"
→ todo add "Check the lamp" "Read the end" at:1 => todo add "Check the lamp" "Read the end" at:1
→ todo done t3 => todo done t3
→ todo toggle t3 t4 => todo toggle t3 t4
→ todo note t3 "Not yet" => todo note t3 "Not yet"
→ memory => memory
→ memory trace => memory trace
→ where am I => memory
→ status => memory
→ print m5w7 => view m5w7
→ inspect m5w7 => view m5w7
→ examine m5w7 => view m5w7
→ display m5w7 => view m5w7
→ what is m5w7? => view m5w7
→ can you show me m5w7? => view m5w7
→ please view m5w7 => view m5w7
→ let me see m5w7 => view m5w7
→ view tree:"The lake" => view tree:"The lake"
→ list m5w7 => list m5w7
→ list m5w7 continuations => list m5w7 continuations
→ list m5w7 continuations, please => list m5w7 continuations
→ list m5w7 children => list m5w7 continuations
→ list children of m5w7 => list m5w7 continuations
→ list children m5w7 => list m5w7 continuations
→ list continuations m5w7 => list m5w7 continuations
→ list continuations of m5w7. => list m5w7 continuations
→ list the replies to m5w7 => list m5w7 continuations
→ list annotations on m5w7 => list m5w7 annotations
→ list notes on m5w7 => list m5w7 annotations
→ list links of m5w7 => list m5w7 links
→ list versions of m5w7 => list m5w7 versions
→ list siblings of m5w7 => list m5w7 siblings
→ list siblings => list here siblings
→ list m5w7 supports => list m5w7 supports
→ list m5w7 ancestors => view branch:m5w7
→ list ancestors of m5w7 => view branch:m5w7
→ ancestors of m5w7 => view branch:m5w7
→ children of m5w7 => list m5w7 continuations
→ what follows m5w7? => list m5w7 continuations
→ list m5w7 and g9a3 => list m5w7|list g9a3
→ path m5w7 => view branch:m5w7
→ path to m5w7 => view branch:m5w7
→ show the path to m5w7 => view branch:m5w7
→ path => view branch:here
→ tree => tree
→ tree from m5w7 => tree from m5w7
→ tree m5w7 => tree from m5w7
→ tree of m5w7 => tree from m5w7
→ tree depth:3 => tree depth:3
→ tree depth=3 => tree depth:3
→ tree depth: 3 => tree depth:3
→ tree depth 3 => tree depth:3
→ tree --depth 3 => tree depth:3
→ tree (depth: 3) => tree depth:3
→ tree levels:3 => tree depth:3
→ tree depth:three => tree depth:3
→ tree from m5w7, depth:2 => tree from m5w7 depth:2
→ show tree => tree
→ outline => tree
→ map => tree
→ tree reset => tree reset
→ find "cold harbour" => find "cold harbour"
→ find “cold harbour” => find "cold harbour"
→ find 'cold harbour' => find "cold harbour"
→ find("cold harbour") => find "cold harbour"
→ find: "cold" => find "cold"
→ find "cold". => find "cold"
→ find "cold" in m5w7 => find "cold" in:m5w7
→ find "cold" in:grove => find "cold" in:grove
→ find "cold" everywhere => find "cold" in:grove
→ find "cold" max=3 => find "cold" max:3
→ find "cold" limit:3 => find "cold" max:3
→ find "cold" (max:3) => find "cold" max:3
→ search "cold" => search "cold"
→ search for "cold" => find "cold"
→ search the tree for "cold" => find "cold"
→ grep "cold" => find "cold"
→ where is "cold"? => find "cold"
→ find "m5w7" => find "m5w7"
→ find clear => find clear
→ compare m5w7 g9a3 => compare m5w7 g9a3
→ compare m5w7 and g9a3 => compare m5w7 g9a3
→ compare m5w7 with g9a3 => compare m5w7 g9a3
→ compare m5w7 to g9a3. => compare m5w7 g9a3
→ compare m5w7, g9a3 => compare m5w7 g9a3
→ compare m5w7 vs g9a3 => compare m5w7 g9a3
→ compare m5w7 g9a3 as:side => compare m5w7 g9a3 as:side
→ compare m5w7 and g9a3 side by side => compare m5w7 g9a3 as:side
→ diff m5w7 g9a3 => compare m5w7 g9a3
→ diff between m5w7 and g9a3 => compare m5w7 g9a3
→ what changed between m5w7 and g9a3? => compare m5w7 g9a3
→ switch to m5w7 => switch to m5w7
→ switch m5w7 => switch to m5w7
→ go m5w7 => switch to m5w7
→ go to m5w7. => switch to m5w7
→ goto m5w7 => switch to m5w7
→ focus on m5w7 => switch to m5w7
→ jump to [m5w7] => switch to m5w7
→ move to the node m5w7 => switch to m5w7
→ navigate to m5w7 => switch to m5w7
→ go up => switch to parent
→ go to the root => switch to root
→ continue => continue
→ continue from m5w7 => continue from m5w7
→ continue m5w7 => continue from m5w7
→ continue from m5w7 n:2 => continue from m5w7 n:2
→ continue from m5w7 n=2 => continue from m5w7 n:2
→ continue from m5w7 n: 2 => continue from m5w7 n:2
→ continue from m5w7 n:two => continue from m5w7 n:2
→ continue from m5w7 x2 => continue from m5w7 n:2
→ continue from:m5w7 n:2 => continue from m5w7 n:2
→ continue from m5w7, n:2 => continue from m5w7 n:2
→ continue m5w7 count:2 => continue from m5w7 n:2
→ continue from m5w7 temperature=0.9 => continue from m5w7 temperature:0.9
→ continue from m5w7 max_tokens:200 => continue from m5w7 tokens:200
→ continue from m5w7 using agent:"Ada" => continue from m5w7 using agent:"Ada"
→ continue from m5w7 using "Ada" => continue from m5w7 using agent:"Ada"
→ continue from m5w7 using Ada => continue from m5w7 using agent:ada
→ continue from m5w7 with agent:"Ada" => continue from m5w7 using agent:"Ada"
→ generate three continuations of m5w7 => continue from m5w7 n:3
→ ask agent:Ada for three continuations of m5w7 => continue from m5w7 n:3 using agent:ada
→ ask agent:"Ada" for two continuations of m5w7 => continue from m5w7 n:2 using agent:"Ada"
→ respond "Yes." => respond "Yes."
→ respond m5w7 "Yes." => respond m5w7 "Yes."
→ respond to m5w7 "Yes." => respond m5w7 "Yes."
→ respond to m5w7: "Yes." => respond m5w7 "Yes."
→ respond(m5w7, "Yes.") => respond m5w7 "Yes."
→ respond m5w7, "Yes." => respond m5w7 "Yes."
→ respond: "Yes." => respond "Yes."
→ respond m5w7 “Yes.” => respond m5w7 "Yes."
→ respond "m5w7" "Yes." => respond m5w7 "Yes."
→ respond "m5w7" => respond "m5w7"
→ reply to m5w7 "Yes." => respond m5w7 "Yes."
→ answer m5w7: "Yes." => respond m5w7 "Yes."
→ branch from m5w7 "Yes." => respond m5w7 "Yes."
→ branch m5w7 "Yes." => respond m5w7 "Yes."
→ branch from m5w7⏎Yes.⏎← => respond m5w7 "Yes."
→ respond m5w7⏎Yes.⏎← => respond m5w7 "Yes."
→ respond to m5w7:⏎Yes.⏎← => respond m5w7 "Yes."
→ respond m5w7⏎Yes. => respond m5w7 "Yes."
→ respond m5w7⏎Yes,⏎she said.⏎← => respond m5w7⏎Yes,⏎she said.⏎←
→ respond "Yes." from:g9a3,n3m5 => respond "Yes." from:g9a3,n3m5
→ annotate m5w7 "why?" => annotate m5w7 "why?"
→ annotate m5w7: "why?" => annotate m5w7 "why?"
→ annotate m5w7 "why?" as:question => annotate m5w7 "why?" as:question
→ annotate m5w7 "why?" as question => annotate m5w7 "why?" as:question
→ annotate m5w7 "why?" as a question => annotate m5w7 "why?" as:question
→ annotate m5w7 question "why?" => annotate m5w7 "why?" as:question
→ annotate m5w7 "why?" type:question => annotate m5w7 "why?" as:question
→ annotate m5w7 as:question "why?" => annotate m5w7 "why?" as:question
→ annotate m5w7 as=warning "hot" => annotate m5w7 "hot" as:warning
→ annotate "m5w7" "why?" => annotate m5w7 "why?"
→ annotate(m5w7, "why?") => annotate m5w7 "why?"
→ note on m5w7: "why?" => annotate m5w7 "why?"
→ comment on m5w7 "why?" => annotate m5w7 "why?"
→ add a note to m5w7 "why?" => annotate m5w7 "why?"
→ ask a question about m5w7 "why?" => annotate m5w7 "why?" as:question
→ resolve k3m8 => resolve k3m8
→ resolve k3m8 "done" => resolve k3m8 "done"
→ resolve k3m8 because "done" => resolve k3m8 "done"
→ mark k3m8 as resolved => resolve k3m8
→ link m5w7 to g9a3 => link m5w7 to g9a3
→ link m5w7 g9a3 => link m5w7 to g9a3
→ link m5w7 and g9a3 => link m5w7 to g9a3
→ link m5w7 with g9a3 => link m5w7 to g9a3
→ link m5w7 -> g9a3 => link m5w7 to g9a3
→ link m5w7 → g9a3 => link m5w7 to g9a3
→ link "m5w7" to "g9a3" => link m5w7 to g9a3
→ link m5w7 to g9a3 as:supports => link m5w7 to g9a3 as:supports
→ link m5w7 to g9a3 as supports => link m5w7 to g9a3 as:supports
→ link m5w7 to g9a3 type:supports => link m5w7 to g9a3 as:supports
→ link m5w7 to g9a3 as:supports. => link m5w7 to g9a3 as:supports
→ link m5w7 to g9a3 as:supports note: "why" => link m5w7 to g9a3 as:supports note:"why"
→ link m5w7 to g9a3 confidence=0.8 => link m5w7 to g9a3 confidence:0.8
→ connect m5w7 to g9a3 => link m5w7 to g9a3
→ unlink m5w7 to g9a3 => unlink m5w7 to g9a3
→ unlink m5w7 from g9a3 => unlink m5w7 to g9a3
→ edit m5w7 "New." => edit m5w7 "New."
→ edit m5w7: "New." => edit m5w7 "New."
→ edit m5w7 to "New." => edit m5w7 "New."
→ edit m5w7 with "New." => edit m5w7 "New."
→ edit m5w7 "New." as:version => edit m5w7 "New." as:version
→ edit m5w7 "New." as a fork => edit m5w7 "New." as:fork
→ edit m5w7 as:version⏎New.⏎← => edit m5w7 "New." as:version
→ edit m5w7 replace:"old" with:"new" => edit m5w7 replace:"old" with:"new"
→ edit m5w7 replace: "old" with: "new" => edit m5w7 replace:"old" with:"new"
→ edit m5w7 replace "old" with "new" => edit m5w7 replace:"old" with:"new"
→ edit m5w7 replace="old" with="new" => edit m5w7 replace:"old" with:"new"
→ edit m5w7 old:"old" new:"new" => edit m5w7 replace:"old" with:"new"
→ replace "old" with "new" in m5w7 => edit m5w7 replace:"old" with:"new"
→ rewrite m5w7 to "New." => edit m5w7 "New."
→ fork m5w7 "New." => edit m5w7 "New." as:fork
→ split m5w7 at:120 => split m5w7 at:120
→ split m5w7 at 120 => split m5w7 at:120
→ split m5w7 at=120 => split m5w7 at:120
→ split m5w7 position:120 => split m5w7 at:120
→ split m5w7 at character 120 => split m5w7 at:120
→ tag m5w7 #best => tag m5w7 #best
→ tag m5w7 #best, => tag m5w7 #best
→ tag m5w7 #best. => tag m5w7 #best
→ tag m5w7 #best, #cold => tag m5w7 #best #cold
→ tag m5w7: #best => tag m5w7 #best
→ tag m5w7 as #best => tag m5w7 #best
→ tag m5w7 with #best => tag m5w7 #best
→ tag "m5w7" #best => tag m5w7 #best
→ tag #best m5w7 => tag m5w7 #best
→ tag m5w7 #"two words" => tag m5w7 #"two words"
→ tag m5w7 and g9a3 #best => tag m5w7 #best|tag g9a3 #best
→ add the tag #best to m5w7 => tag m5w7 #best
→ untag m5w7 #best => untag m5w7 #best
→ remove the tag #best from m5w7 => untag m5w7 #best
→ bookmark m5w7 => bookmark m5w7
→ bookmark m5w7 "key" => bookmark m5w7 "key"
→ bookmark m5w7 as "key" => bookmark m5w7 "key"
→ bookmark m5w7: "key" => bookmark m5w7 "key"
→ bookmark "m5w7" "key" => bookmark m5w7 "key"
→ bookmark m5w7 and g9a3 => bookmark m5w7|bookmark g9a3
→ unbookmark m5w7. => unbookmark m5w7
→ prune m5w7 => prune m5w7
→ prune m5w7. => prune m5w7
→ prune node m5w7 => prune m5w7
→ please prune m5w7 => prune m5w7
→ prune m5w7 because:"dull" => prune m5w7 because:"dull"
→ prune m5w7 because: "dull" => prune m5w7 because:"dull"
→ prune m5w7 because "dull" => prune m5w7 because:"dull"
→ restore m5w7 => restore m5w7
→ bring back m5w7 => restore m5w7
→ exclude m5w7 from the context => exclude m5w7
→ include m5w7 again => include m5w7
→ undo => undo
→ undo 2 => undo n:2
→ undo n=2 => undo n:2
→ undo the last step => undo
→ undo step 3 => undo step:3
→ redo => redo
→ think "I should look." => think "I should look."
→ think I should look at m5w7 first. => think "I should look at m5w7 first."
→ think: I should look at m5w7 first. => think "I should look at m5w7 first."
→ think⏎First this.⏎Then that.⏎← => think⏎First this.⏎Then that.⏎←
→ help => help
→ help edit => help edit
→ help(edit) => help edit
→ help with edit => help edit
→ what can I do? => help
→ budget => budget
→ show my budget => budget
- → view m5w7 => view m5w7
* → view m5w7 => view m5w7
1. → view m5w7 => view m5w7
2) → view m5w7 => view m5w7
**→ view m5w7** => view m5w7
`→ view m5w7` => view m5w7
- `→ view m5w7` => view m5w7
- **→ view m5w7** => view m5w7
`→ view m5w7`. => view m5w7
⇒ view m5w7 => view m5w7
➜ view m5w7 => view m5w7
➔ list m5w7 => list m5w7
=> find "cold" => find "cold"
-> look at m5w7 => view m5w7
- -> tree from m5w7 => tree from m5w7
- → view m5w7⏎- → view g9a3 => view m5w7|view g9a3
→ view m5w7⏎✓ Ada wrote this⏎→ view g9a3 => view m5w7
→ find "boats"⏎✓ 2 hits: [m5w7] [g9a3]⏎→ tag m5w7 #hit⏎→ prune g9a3 => find "boats"
→ find "boats"⏎✗ nothing found⏎→ prune g9a3 => find "boats"
→ view m5w7⏎✓⏎→ prune g9a3 => view m5w7
→ tree⏎⏎✓ 3 nodes⏎  [m5w7] "The boats"⏎→ prune g9a3 => tree
→ tag m5w7 #best⏎→ view m5w7⏎✓ tagged⏎→ prune g9a3 => tag m5w7 #best|view m5w7
→ tag m5w7 #best⏎✓ tagged m5w7⏎  detail⏎→ tag g9a3 #best => tag m5w7 #best|tag g9a3 #best
"""

NEAR = """
- → tag n3m5 #seen => → tag n3m5 #seen
* → tag n3m5 #seen => → tag n3m5 #seen
1. → tag n3m5 #seen => → tag n3m5 #seen
**→ tag n3m5 #seen** => → tag n3m5 #seen
`→ tag n3m5 #seen` => → tag n3m5 #seen
- `→ tag n3m5 #seen` => → tag n3m5 #seen
⇒ tag n3m5 #seen => → tag n3m5 #seen
➜ tag n3m5 #seen => → tag n3m5 #seen
➔ tag n3m5 #seen => → tag n3m5 #seen
=> tag n3m5 #seen => → tag n3m5 #seen
- → prune n3m5 => → prune n3m5
⇒ prune n3m5 => → prune n3m5
`→ prune n3m5` => → prune n3m5
- → switch to n3m5 => → switch to n3m5
- → annotate n3m5 "why?" => → annotate n3m5 "why?"
- → respond n3m5 "Yes." => → respond n3m5 "Yes."
=> respond "Yes." => → respond "Yes."
- → link n3m5 to g9a3 as supports => → link n3m5 to g9a3 as:supports
➜ bookmark n3m5 => → bookmark n3m5
- → continue from n3m5 n:2 => → continue from n3m5 n:2
- → edit n3m5 replace:"a" with:"b" => → edit n3m5 replace:"a" with:"b"
- → undo => → undo
- → restore n3m5 => → restore n3m5
- → tree reset => → tree reset
-> add the tag #seen to n3m5 => → tag n3m5 #seen
     → tag n3m5 #seen => → tag n3m5 #seen
     → view n3m5 => → view n3m5
⇥→ view n3m5 => → view n3m5
⇥→ prune n3m5 => → prune n3m5
⇥⇥→ prune n3m5 => → prune n3m5
 ⇥→ prune n3m5 => → prune n3m5
```⏎→ view n3m5⏎``` => → view n3m5
```⏎-> view n3m5⏎``` => → view n3m5
```loom⏎➜ view n3m5⏎``` => → view n3m5
I will → view n3m5 now. => → view n3m5
Let me write `→ view n3m5` to see it. => → view n3m5
I use `→ tree` to see it. => → tree
First → view n3m5, then we see. => → view n3m5
#### → view n3m5 => → view n3m5
| → view n3m5 | => → view n3m5
- → respond n3m5⏎Yes.⏎← => → respond n3m5
⇒ respond n3m5⏎Yes.⏎→ prune g9a3⏎← => → respond n3m5
"""

MENTIONED = """
~~~text⏎→ prune n3m5⏎~~~
```⏎→ tag n3m5 #seen⏎```
```⏎➜ prune n3m5⏎```
Next: → tag n3m5 #seen
Command: → prune n3m5
"→ prune n3m5"
It is pruned; → restore n3m5 would bring it back.
"""

CALLS = """
{"command": "open", "args": {"ref": "n3m5"}} => → open n3m5
<tool_call>{"name": "view", "arguments": {"ref": "n3m5"}}</tool_call> => → view n3m5
<tool_call>⏎{"name": "view", "arguments": {"ref": "n3m5"}}⏎</tool_call> => → view n3m5
<function=view>⏎{"ref": "n3m5"}⏎</function> => → view n3m5
```json⏎{⏎  "tool": "find",⏎  "query": "boats",⏎  "max": 3⏎}⏎``` => → find "boats" max:3
[{"name": "tag", "arguments": {"ref": "n3m5", "tag": "#x"}}] => → tag n3m5 #x
{"function": {"name": "list", "arguments": "{\\"id\\": \\"n3m5\\"}"}} => → list n3m5
<tool_call>{"name": "frobnicate"}</tool_call> => → view here
"""

REFUSED = """
→ prune m5w7 and g9a3 => → prune m5w7 and → prune g9a3
→ prune m5w7, g9a3 => → prune m5w7 and → prune g9a3
→ switch to m5w7 and g9a3 => → switch to m5w7
→ view m5w7; view g9a3 => → view m5w7 and → view g9a3
→ view m5w7 → view g9a3 => → view m5w7 and → view g9a3
→ view m5w7, then tag m5w7 #seen => → view m5w7 and → tag m5w7 #seen
→ view m5w7 and tag m5w7 #seen => → view m5w7 and → tag m5w7 #seen
→ view m5w7 # to see it => → view m5w7
→ view m5w7 (the opening) => → view m5w7
→ view m5w7 -- the opening => → view m5w7
→ find cold harbour => → find "cold harbour"
→ find river => → find "river"
→ search cold harbour => → search "cold harbour"
→ respond m5w7 She opened the door. => → respond m5w7 "She opened the door."
→ respond Yes, she did. => → respond "Yes, she did."
→ respond m5w7 "She said "no" and left." => "She said \\"no\\" and left."
→ annotate m5w7 this is fine => → annotate m5w7 "this is fine"
→ annotate m5w7 "the "cold" one" => → annotate m5w7 "the \\"cold\\" one"
→ edit m5w7 to the new text => → edit m5w7 "the new text"
→ bookmark m5w7 key moment => → bookmark m5w7 "key moment"
→ tag m5w7 best => → tag m5w7 #best
→ tag m5w7 as best and cold => → tag m5w7 #best #cold
→ tag m5w7 "best" => #best
→ link m5w7 supports g9a3 => → link m5w7 to g9a3 as:supports
→ link m5w7 to g9a3 supports => → link m5w7 to g9a3 as:supports
→ veiw m5w7 => → view m5w7
→ anotate m5w7 "why?" => → annotate m5w7 "why?"
→ prnue m5w7 => prune
→ delete m5w7 => prune
→ remove m5w7 => prune
→ done => write your answer
→ finish => write your answer
→ end => write your answer
→ view => or here
→ tag m5w7 => #name
→ respond "unclosed => write \\"
→ respond m5w7 => ←
→ annotate m5w7 => ←
→ split m5w7 => at
→ view m5w7 as:poem => as:prose
→ continue n:many => n: a whole number from 1 to 10
→ continue n:50 => n:10
→ don't prune m5w7 => → help lists
→ prune m5w7? => prune
→ prune all => prune
→ respond m5w7⏎One.⏎⏎Two. => ← alone
→ respond m5w7⏎One.⏎→ tag m5w7 #best => ← alone
→ respond m5w7⏎```⏎a⏎```⏎b => ← alone
→ respond m5w7⏎One.⏎- → view g9a3 => ← alone
→ annotate m5w7⏎It is flat.⏎That is my note. => ← alone
→ respond m5w7⏎The tide turned.⏎I wrote it below m5w7. => ← alone
→ stash "p"⏎one⏎Done. => ← alone
→ write doc:"notes" append⏎More of it.⏎I have appended it for you. => ← alone
"""

TEXT = """
She walked to the harbour.
> → prune n3m5
> - → view n3m5
\\→ prune n3m5
\\-> view n3m5
cause → effect
{"name": "Ada", "age": 3}
{"command": "frobnicate", "ref": "n3m5"}
{not json
[n3m5] is the lamp
A → B → C
-> and so on
- → and so it went
⇒ hence the river froze that winter
=> therefore nothing else was left to say about it
The arrow -> points right.
plan → view → act
supply -> demand
```⏎x -> y⏎```
```⏎let f = x -> view(x)⏎```
1. First, look at the door.
- view the harbour from above
**Bold** start of a text
`code` in a text
✓ done, as far as I can see
✗ not this one
a > b => c
x => x + 1
--> note the sea
"""


def rows(section: str) -> list[tuple[str, str]]:
    """The replies of a section with their verdicts."""
    replies = []
    for line in section.strip("\n").split("\n"):
        reply, _, verdict = line.rpartition(" => ") if " => " in line else (line, "", "")
        replies.append((reply.replace("⏎", "\n").replace("⇥", "\t"), verdict.replace("⏎", "\n")))
    return replies
