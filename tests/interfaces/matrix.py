"""Who may do what over the API, as data: a row for every method of every address.

Method, address, then the status for owner, writer, reader, outsider and nobody, then a body.
`{…}` stands for something in the owner's grove or account; see `world` in test_matrix.py.
"""

import json
from dataclasses import dataclass
from typing import Any

PEOPLE = ("owner", "writer", "reader", "outsider", "nobody")
# Further people, and whose status they share: a writer who is also a member of the other grove, and
# a user without a grove.
LIKE = {"both": "writer", "stranger": "outsider"}
EVERYBODY = (*PEOPLE, *LIKE)

TABLE = """
GET    me                              200 200 200 200 401
GET    settings                        200 200 200 200 401
PATCH  settings                        200 200 200 200 401  {"theme": "dark"}
POST   me/password                     200 200 200 200 401  {"old":"{me}-password","new":"birch-90"}
GET    me/sessions                     200 200 200 200 401
DELETE me/sessions/{session}           200 404 404 404 401
GET    api-keys                        200 200 200 200 401
POST   api-keys                        201 201 201 201 401  {"name": "laptop"}
DELETE api-keys/{key}                  200 404 404 404 401
GET    gateway-keys                    200 200 200 200 401
POST   gateway-keys                    201 201 403 404 401 {"name":"a","participant":"{muse}"}
DELETE gateway-keys/{gateway_key}      200 404 404 404 401
GET    sessions                        200 200 200 200 401
GET    sessions/{gateway_session}      200 404 404 404 401
PATCH  sessions/{gateway_session}      409 404 404 404 401  {"workspace": null}
POST   sessions/{gateway_session}/results 404 404 404 404 401 {"tool_use_id":"t","visible":false}
GET    sessions/{gateway_session}/original 200 404 404 404 401
GET    sessions/{gateway_session}/modified 200 404 404 404 401
GET    sessions/{gateway_session}/state 200 404 404 404 401
GET    groves                          200 200 200 200 401
POST   groves                          201 201 201 201 401  {"name": "Another"}
GET    groves/{grove}                  200 200 200 404 401
PATCH  groves/{grove}                  200 403 403 404 401  {"name": "Renamed"}
GET    groves/{grove}/events           200 200 200 404 401
GET    groves/{grove}/settings         200 200 200 404 401
PATCH  groves/{grove}/settings         200 403 403 404 401  {"trace_actions": 3}
GET    groves/{grove}/web-search       200 200 200 404 401
PUT    groves/{grove}/web-search       200 403 403 404 401  {"kind": "tavily", "api_key": "k"}
DELETE groves/{grove}/web-search       200 403 403 404 401
GET    groves/{grove}/embedder         200 200 200 404 401
PUT groves/{grove}/embedder 200 403 403 404 401 {"model": "m", "base_url": "https://e.example/v1"}
PATCH  groves/{grove}/embedder         200 403 403 404 401  {"is_stopped": true}
DELETE groves/{grove}/embedder         200 403 403 404 401
GET    groves/{grove}/put-aside        200 403 403 404 401
POST   groves/{grove}/put-aside        404 403 403 404 401  {"kind": "document", "id": "none"}
GET    groves/{grove}/search?q=opening 200 200 200 404 401
GET    groves/{grove}/tags             200 200 200 404 401
PATCH  groves/{grove}/tags             200 200 403 404 401  {"tag": "kept", "name": "first"}
DELETE groves/{grove}/tags             200 403 403 404 401  {"tag": "kept"}
GET    groves/{grove}/saved?kind=search 200 200 200 404 401
POST   groves/{grove}/saved 201 201 201 404 401 {"kind":"search","name":"a","body":{"q":"a"}}
DELETE groves/{grove}/saved            404 404 404 404 401  {"id": "none"}
PATCH  groves/{grove}/saved            404 404 404 404 401  {"id": "none", "name": "x"}
GET    groves/{grove}/members          200 200 200 404 401
POST   groves/{grove}/members          201 403 403 404 401  {"user": "outsider", "role": "reader"}
PATCH  groves/{grove}/members          200 403 403 404 401  {"user": "reader", "role": "writer"}
DELETE groves/{grove}/members          200 403 403 404 401  {"user": "reader"}
GET    groves/{grove}/invitations      200 403 403 404 401
POST   groves/{grove}/invitations      201 403 403 404 401  {"role": "reader"}
DELETE groves/{grove}/invitations      200 403 403 404 401  {"id": "{invitation}"}
GET    groves/{grove}/webhooks         200 403 403 404 401
POST   groves/{grove}/webhooks         201 403 403 404 401  {"url": "https://hooks.example/a"}
GET    webhooks/{webhook}              200 403 403 404 401
PATCH  webhooks/{webhook}              200 403 403 404 401  {"stopped": true}
GET    groves/{grove}/tool-servers     200 403 403 404 401
POST groves/{grove}/tool-servers 201 403 403 404 401 {"name":"new","url":"https://mcp.example/b"}
GET    tool-servers/{tool_server}      200 403 403 404 401
PATCH  tool-servers/{tool_server}      200 403 403 404 401  {"api_key": "k"}
POST   tool-servers/{tool_server}/tools 202 403 403 404 401
PATCH  tool-servers/{tool_server}/tools/{tool} 200 403 403 404 401  {"on": false}
DELETE tool-servers/{tool_server}      200 403 403 404 401
POST   turns/{turn}/tools              409 403 403 404 401  {"tool": "weather.a", "allow": true}
POST   webhooks/{webhook}/secret       200 403 403 404 401
DELETE webhooks/{webhook}              200 403 403 404 401
GET    participants?grove={grove}      200 200 200 404 401
POST   participants?grove={grove}      201 403 403 404 401  {"name": "New", "model_ref": "local:a"}
GET    participants/templates          200 200 200 200 401
GET    participants/{participant}      200 200 200 404 401
GET    participants/{participant}/instructions 200 200 200 404 401
PATCH  participants/{participant}      200 403 403 404 401  {"name": "Other"}
PATCH  participants/{participant}      200 403 403 404 401  {"provider_tools": [{"type": "a"}]}
DELETE participants/{participant}      200 403 403 404 401
POST   participants/{participant}/probe 202 403 403 404 401
GET    trees?grove={grove}             200 200 200 404 401
POST   trees                           201 201 403 404 401  {"mode": "buffer", "grove": "{grove}"}
GET    trees/{tree}                    200 200 200 404 401
PATCH  trees/{tree}                    200 200 403 404 401  {"title": "Other"}
DELETE trees/{archived}                200 403 403 404 401  {"title": "Old"}
GET    trees/{tree}/settings?node={node} 200 200 200 404 401
PUT    trees/{tree}/settings           200 200 403 404 401 {"node": "{node}", "settings": {}}
POST   trees/{tree}/commands           200 200 403 404 401  {"line": "respond root \\"a\\""}
GET    trees/{tree}/public-links       200 403 403 404 401
POST   trees/{tree}/public-links       201 403 403 404 401  {"days": 7}
DELETE trees/{tree}/public-links       200 403 403 404 401  {"id": "{public}"}
GET    trees/{tree}/rights             200 403 403 404 401
PUT    trees/{tree}/rights             200 403 403 404 401  {"who": "readers", "right": "comment"}
GET    trees/{tree}/nodes              200 200 200 404 401
GET    trees/{tree}/nodes/{node}       200 200 200 404 401
GET    trees/{tree}/nodes/{node}/provenance 200 200 200 404 401
GET    trees/{tree}/nodes/{node}/timestamp 200 200 200 404 401
GET    trees/{tree}/nodes/{node}/timestamp/answer 200 200 200 404 401
GET    trees/{tree}/nodes/{node}/graph 200 200 200 404 401
GET    trees/{tree}/path               200 200 200 404 401
GET    trees/{tree}/skeleton           200 200 200 404 401
GET    trees/{tree}/skeleton/{tile}    200 200 200 404 401
GET    trees/{tree}/overview           200 200 200 404 401
GET    trees/{tree}/events             200 200 200 404 401
GET    trees/{tree}/verify             200 200 200 404 401
GET    trees/{tree}/usage              200 200 200 404 401
GET    trees/{tree}/estimate           200 200 200 404 401
GET    trees/{tree}/main-line          200 200 200 404 401
GET    trees/{tree}/ratings            200 200 200 404 401
GET    groves/{grove}/acceptance       200 200 200 404 401
GET    trees/{tree}/manuscript         200 200 200 404 401
GET    trees/{tree}/book?format=epub   200 200 200 404 401
GET    trees/{tree}/summaries          200 200 200 404 401
POST   trees/{tree}/summaries          503 503 403 404 401  {"tree": true}
GET    groves/{grove}/usage            200 200 200 404 401
GET    trees/{tree}/export             200 200 200 404 401
GET    trees/{tree}/export/preview     200 200 200 404 401
GET    trees/{tree}/tables             200 200 200 404 401
GET    trees/{tree}/tables/{table}     200 200 200 404 401
POST   trees/{tree}/images             400 400 403 404 401
GET    images/{image}                  200 200 200 404 401
GET    commands                        200 200 200 200 401
GET    workspaces?tree={tree}          200 200 200 404 401
GET    workspaces/{workspace}          200 404 404 404 401
GET    workspaces/{agents}/context     200 200 200 404 401
GET    workspaces/{agents}             200 200 200 404 401
PATCH  workspaces/{workspace}          200 404 404 404 401  {"settings": {"evict": "lru"}}
PATCH  workspaces/{agents}             200 200 403 404 401  {"settings": {"evict": "lru"}}
GET    workspaces/{workspace}/events   200 404 404 404 401
GET    workspaces/{workspace}/outline  200 404 404 404 401
GET    workspaces/{workspace}/status   200 404 404 404 401
GET    workspaces/{workspace}/windows  200 404 404 404 401
GET    workspaces/{agents}/windows     200 200 200 404 401
GET    workspaces/{workspace}/verify   200 404 404 404 401
GET    workspaces/{agents}/verify      200 200 200 404 401
GET    trees/{tree}/verify?what=view   200 200 200 404 401
GET    workspaces/{workspace}/tasks    200 404 404 404 401
GET    workspaces/{agents}/tasks       200 200 200 404 401
GET    workspaces/{workspace}/augments 200 404 404 404 401
GET    workspaces/{agents}/augments    200 200 200 404 401
GET    workspaces/{agents}/outline     200 200 200 404 401
GET    workspaces/{agents}/status      200 200 200 404 401
GET    workspaces/{workspace}/drafts   200 404 404 404 401
PUT    workspaces/{workspace}/drafts/{node} 200 404 404 404 401 {"kind":"buffer","text":"a"}
GET    workspaces/{agents}/drafts      200 200 200 404 401
PUT    workspaces/{agents}/drafts/{node} 403 403 403 404 401 {"kind":"buffer","text":"a"}
POST   workspaces/{workspace}/commands 200 404 404 404 401  {"line": "tree"}
POST   workspaces/{agents}/commands    200 200 403 404 401  {"line": "switch to {node}"}
POST   trees/{tree}/turns              202 202 403 404 401  {"participant": "{participant}"}
GET    turns/{turn}                    200 200 200 404 401
POST   turns/{turn}/extend             409 403 403 404 401  {"steps": 20}
POST   turns/{turn}/stop               200 200 403 404 401
GET    trees/{tree}/models             200 200 200 404 401
POST   trees/{tree}/nodes/{node}/next-tokens 503 503 403 404 401
POST   trees/{tree}/nodes/{node}/score 503 503 403 404 401
GET    trees/{tree}/landscape          200 200 200 404 401
POST   trees/{tree}/landscape          202 202 403 404 401
POST   trees/{tree}/landscape/stop     200 200 403 404 401
GET    trees/{tree}/landscape/titles   200 200 200 404 401
POST   trees/{tree}/landscape/titles   409 409 403 404 401
GET    trees/{tree}/landscape/points   200 200 200 404 401
GET    groves/{grove}/landscape        200 200 200 404 401
POST   groves/{grove}/landscape        202 202 403 404 401
POST   groves/{grove}/landscape/stop   200 200 403 404 401
GET    groves/{grove}/landscape/titles 200 200 200 404 401
POST   groves/{grove}/landscape/titles 409 409 403 404 401
GET    groves/{grove}/landscape/points 200 200 200 404 401
POST   trees/{tree}/exposures          200 200 200 404 401  {"point": "{node}"}
GET    groves/{grove}/choices          200 200 200 404 401
PATCH  groves/{grove}/choices          200 200 200 404 401  {"orders": true}
DELETE groves/{grove}/choices          200 200 200 404 401
GET    groves/{grove}/choices/export   200 200 200 404 401
GET    trees/{tree}/explorations       200 200 200 404 401
GET    explorations/{exploration}      200 200 200 404 401
POST   explorations/{exploration}/stop 200 200 403 404 401
GET    documents?grove={grove}         200 200 200 404 401
GET    documents?tree={tree}           200 200 200 404 401
POST   documents                       201 201 403 404 401  {"title":"b","grove":"{grove}"}
GET    documents/{document}            200 200 200 404 401
PATCH  documents/{document}            200 200 403 404 401  {"title": "Other"}
POST   documents/{document}/write      200 200 403 404 401  {"append": "more"}
POST   documents/{document}/restore    200 200 403 404 401  {"revision": 1}
GET    documents/{document}/summary    200 200 200 404 401
POST   documents/{document}/summary    503 503 403 404 401
GET    documents/{document}/export     200 200 200 404 401
GET    documents/{document}/revisions  200 200 200 404 401
GET    documents/{document}/revisions/{revision} 200 200 200 404 401
GET    documents/{document}/revisions/{revision}/difference 200 200 200 404 401
GET    token-kinds                     200 200 200 200 401
GET    items/{tasks}/tokens?tree={tree} 200 200 200 404 401
GET    items/{tasks}/tokens/{token}?tree={tree} 200 200 200 404 401
POST   items/{tasks}/tokens/{token}?tree={tree} 200 200 403 404 401 {"input":"check"}
GET    claims?tree={tree}              200 200 200 404 401
GET    evidence?tree={tree}&group=source 200 200 200 404 401
GET    claims/{claim}?tree={tree}      200 200 200 404 401
GET    claims/{claim}/obligations?tree={tree} 200 200 200 404 401
GET    trees/{tree}/verify?claim={claim} 200 200 200 404 401
GET    pipes?grove={grove}             200 200 200 404 401
POST   pipes 201 201 403 404 401 {"name":"new","lines":"view | annotate root","grove":"{grove}"}
GET    pipes/{pipe}                    200 200 200 404 401
DELETE pipes/{pipe}                    200 200 403 404 401
GET    checks?grove={grove}            200 200 200 404 401
POST   checks 201 201 403 404 401 {"name":"b","kind":"json","grove":"{grove}"}
GET    checks/results?tree={tree}&items={tasks} 200 200 200 404 401
GET    checks/{check}                  200 200 200 404 401
PATCH  checks/{check}                  200 200 403 404 401  {"on_save": true}
DELETE checks/{check}                  200 200 403 404 401
GET    steps?workspace={workspace}     200 404 404 404 401
GET    links?tree={tree}               200 200 200 404 401
GET    links?tree={tree}&node={node}   200 200 200 404 401
GET    link-types                      200 200 200 200 401
GET    link-types?grove={grove}        200 200 200 404 401
POST   link-types                      201 201 403 404 401  {"grove":"{grove}","name":"answers"}
GET    trails?grove={grove}            200 200 200 404 401
GET    trails/{trail}                  200 200 200 404 401
GET    trails/{trail}/export           200 200 200 404 401
POST   trails                          201 409 409 404 401  {"tree": "{tree}", "name": "a way"}
GET    turns/{turn}/trail              200 200 200 404 401
PATCH  link-types                200 403 403 404 401 {"grove":"{grove}","type":"uses","name":"u"}
GET    generations/{generation}        200 200 200 404 401
POST   generations/{generation}/stop   200 200 403 404 401
GET    calls/{call}                    200 200 200 404 401
GET    calls/{call}/response           200 200 200 404 401
POST   import                          400 400 400 400 401
GET    imports/{import}                200 200 200 404 401
DELETE imports/{import}                200 200 403 404 401
POST   imports/{import}/stop           200 200 403 404 401
GET    imports/{import}/parts          200 200 200 404 401
POST   imports/{import}/choose         409 409 403 404 401
GET    schema/                         200 200 200 200 200
GET    docs/                           200 200 200 200 200
"""


@dataclass(frozen=True)
class Row:
    """One method of one address, and the status each of PEOPLE gets."""

    method: str
    address: str
    statuses: tuple[int, ...]
    body: str

    def status(self, name: str) -> int:
        """The status that one of EVERYBODY gets."""
        return self.statuses[PEOPLE.index(LIKE.get(name, name))]

    @property
    def route(self) -> str:
        """The address without its query, and without names in its braces."""
        parts = self.address.partition("?")[0].split("/")
        return "/".join("{}" if part.startswith("{") else part for part in parts)

    def filled(self, names: dict[str, str]) -> tuple[str, Any]:
        """The address under /api/ and the body, with names put in."""
        address, body = self.address, self.body
        for name, value in names.items():
            address = address.replace("{" + name + "}", value)
            body = body.replace("{" + name + "}", value)
        return f"/api/{address}", json.loads(body) if body else None


def _row(line: str) -> Row:
    method, address, *rest = line.split(maxsplit=7)
    return Row(method, address, tuple(map(int, rest[:5])), rest[5] if rest[5:] else "")


ROWS = [_row(line) for line in TABLE.strip().splitlines()]

# Verbs that only owners of the grove may use, whatever their permissions.
OF_OWNERS = ("allow",)
TYPES_OF_OWNERS = ("linktype change", "linktype archive", "linktype restore")
# One line for each verb, run by each person. `{node}` and `{note}` are in the tree.
LINES = {
    "view": ['view doc:"Notes"', "view {node}", "view {node} in {claim}"],
    "compare": ["compare {node} root"],
    "list": ['list doc:"Notes"', "list documents", "list {node}", "list tags"],
    "tree": ["tree"],
    "find": ['find "opening"'],
    "search": ['search "opening"'],
    "graph": ["graph {node} types:supports"],
    "switch": ["switch to {node}"],
    "expand": ["expand related of {node}", "expand root"],
    "collapse": ["collapse {node}"],
    "back": ["back"],
    "continue": ["continue from {node}"],
    "respond": ['respond {node} "more"'],
    "edit": ['edit {node} "else"', 'edit {node} replace:"opening" with:"end"'],
    "annotate": [
        'annotate {node} "why?" as:question',
        'annotate {node} "why?" of:"opening"',
    ],
    "resolve": ["resolve {note}"],
    "suggest": ['suggest {node} "another opening"', 'suggest {node} "end" of:"opening"'],
    "accept": ["accept {suggestion}", 'accept {suggestion} edited "mine"'],
    "reject": ['reject {suggestion} "no"'],
    "link": ['link doc:"Notes" to root', 'link {node} to doc:"Notes"', "link {node} to root"],
    "unlink": [
        'unlink doc:"Notes" to {marked}',
        'unlink {gone} to doc:"Notes"',
        "unlink {node} to {note}",
    ],
    "write": [
        'write doc:"More" new "a"',
        'write doc:"Ways" from trail:"way"',
        'write doc:"Notes" append "b"',
    ],
    "bookmark": ['bookmark doc:"Notes"', 'bookmark {node} "here"'],
    "unbookmark": ['unbookmark doc:"Notes"', "unbookmark {marked}"],
    "tag": ['tag doc:"Notes" #good', "tag {node} #good"],
    "untag": ['untag doc:"Notes" #kept', "untag {marked} #kept"],
    "main": ["main off", "main {marked}"],
    "rate": ["rate {node} plus"],
    "allow": ["allow readers comment", 'allow "reader" comment', "allow"],
    "chapter": ["chapter list", 'chapter target "1" words:9'],
    "manuscript": ['manuscript author:"Ada"'],
    "prune": ["prune {node}"],
    "restore": ["restore {gone}"],
    "exclude": ["exclude {node}"],
    "include": ["include {gone}"],
    "split": ["split {node} at:2"],
    "undo": ["undo"],
    "redo": ["redo"],
    "open": ["open {node}", "open {claim} evidence"],
    "resize": ["resize #900 lines:1"],
    "refresh": ["refresh #900", "refresh all"],
    "hide": ["hide #900", 'hide label:"kept"', "hide all"],
    "show": ["show #900", 'show label:"kept"'],
    "close": ["close #900", 'close label:"kept"', "close all"],
    "drop": ["drop {marked}"],
    "stash": ['stash "new" "a lamp"', 'stash "new" content-of:{node}'],
    "recall": ['recall "idea"'],
    "memory": ["memory"],
    "augment": [
        "augment list",
        "augment load good/plain",
        "augment store good/new\nA lamp.\n←",
        "augment store good/kept from {claim}",
    ],
    "todo": [
        "todo",
        'todo add "a lamp"',
        "todo toggle t900",
        'todo note t900 "soon"',
        "todo clear",
        "todo check {tasks} token:1",
        'todo note doc:"Notes" token:{listed} "soon"',
    ],
    "ask": [
        'ask agent:"Muse" "why?" at {node} wait',
        'ask agent:"Muse" "why?"',
        'ask "Owner" "why?" wait',
        'ask "Owner" "why?" at {node}',
    ],
    "explore": ["explore from {node} n:1 depth:1 by:variety"],
    "since": ["since"],
    "digest": ["digest"],
    "scratchpad": ["scratchpad clear", 'scratchpad "a lamp"'],
    "pipe": ['pipe "view"', 'pipe "view" save:"new"'],
    "run": ["run pipe:{pipe} from {node}"],
    "claim": ['claim "it is dark" cite:{node}'],
    "cite": [
        'cite doc:"Notes" for {claim}',
        'cite doc:"Notes" against {claim} "no"',
        'cite doc:"Notes" undercuts {node} in {claim}',
        "cite {marked} for {claim}",
        'cite {marked} against {claim} "no"',
        "cite {marked} undercuts {node} in {claim}",
    ],
    "address": ['address {note} in {claim} "so"'],
    "conclude": ['conclude {claim} "so"'],
    "commit": ["commit {claim}"],
    "withdraw": ['withdraw {claim} "no"'],
    "veto": ['veto {claim} "no"'],
    "check": ['check doc:"Notes"', "check {node}"],
    "sandbox": ["sandbox from {node}"],
    "promote": ["promote"],
    "discard": ["discard"],
    "think": ['think "hm"'],
    "trail": [
        'trail save "a way"',
        "trail show windows",
        'trail show "way"',
        'trail replay "way"',
        'trail fork "way" at:1 save:"a part"',
        'trail join "way" "way" save:"twice"',
        'trail note "way" n:1 "so"',
        'trail share "way"',
        'trail unshare "way"',
        "trail list",
        "trail",
    ],
    "linktype": [
        'linktype add "pays"',
        'linktype change "related" colour:teal',
        'linktype archive "related"',
        'linktype restore "related"',
        "linktype list",
    ],
    "budget": ["budget", "budget extend steps:5"],
    "use": ['use "weather.forecast" {"city": "Bern"}'],
    "help": ["help"],
}


def filled(line: str, world: dict[str, str]) -> str:
    """A line or an address with the names of things put in."""
    for name, value in world.items():
        line = line.replace("{" + name + "}", value)
    return line
