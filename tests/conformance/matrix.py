"""What each dialect can and cannot express, by the protocol sheets: a row per concept, a column per dialect.

``yes``: it comes back unchanged. ``~``: it is written differently, in part or in another place, and declared. ``no``:
it cannot be expressed, and using it is declared. The concepts are those of ``interlingua.testing.samples``.
"""

from __future__ import annotations

from interlingua import DIALECTS
from interlingua.testing.conformance import Word

COLUMNS = ("anthropic-messages", "openai-chat", "openai-responses", "gemini", "ollama", "bedrock-converse")

PENDING: tuple[str, ...] = ()
"""Dialects that are in the registry but not finished: left out of the conformance, pair and property tests."""

SPOKEN = tuple(name for name in COLUMNS if name in DIALECTS and name not in PENDING)

REQUESTS = """
concept                         anthropic  chat  responses  gemini  ollama  bedrock

model                              yes      yes     yes       yes     yes     yes
max output tokens                  yes      yes     yes       yes     yes     yes
temperature                        yes      yes     yes       yes     yes     yes
top p                              yes      yes     yes       yes     yes     yes
top k                              yes      no      no        yes     yes     yes
stop sequences                     yes      yes     no        yes     yes     yes
seed                               no       yes     no        yes     yes     no
service tier                       yes      yes     yes       yes     no      yes
verbosity                          no       yes     yes       no      no      no
frequency penalty                  no       yes     no        yes     yes     no
presence penalty                   no       yes     no        yes     yes     no
n                                  no       yes     no        yes     no      no
logprobs                           no       yes     yes       yes     yes     no
prompt cache key                   no       yes     yes       no      no      no
store                              no       yes     yes       yes     no      no
user                               ~        yes     yes       no      no      no
json output                        no       yes     yes       yes     yes     no
stream                             yes      yes     yes       yes     yes     yes
betas                              yes      no      no        no      no      yes
top logprobs                       no       yes     yes       yes     yes     no
output schema                      yes      yes     yes       yes     yes     yes
output name                        ~        yes     yes       ~       ~       yes
output description                 ~        yes     yes       ~       ~       yes
output schema with optionals       ~        ~       ~         yes     yes     ~
metadata user id                   yes      yes     yes       yes     no      yes
metadata                           no       yes     yes       yes     no      yes

thinking effort                    yes      yes     yes       yes     yes     yes
thinking budget                    yes      no      no        yes     no      yes
thinking display                   yes      no      yes       yes     no      yes
thinking adaptive                  yes      no      no        yes     ~       yes
thinking disabled                  yes      yes     yes       yes     yes     yes
thinking between tools             yes      no      no        ~       ~       yes

tool                               yes      yes     yes       yes     ~       yes
tool without description           yes      yes     yes       yes     ~       yes
tool without parameters            yes      yes     yes       yes     yes     yes
tool strict                        yes      yes     yes       no      no      yes
tool not strict                    yes      yes     yes       no      no      yes
tool strict with optionals         ~        ~       ~         yes     yes     ~
tool cache                         yes      no      no        no      no      yes
free-text tool                     ~        yes     yes       ~       ~       ~
own server tool                    yes      yes     yes       yes     yes     yes
foreign server tool                no       no      no        no      no      no
own tool residue                   yes      yes     yes       yes     yes     yes

choice auto                        yes      yes     yes       yes     no      yes
choice any                         yes      yes     yes       yes     no      yes
choice none                        yes      yes     yes       yes     ~       ~
choice specific                    yes      yes     yes       yes     no      yes
choice allowed                     no       yes     yes       yes     no      no
choice not parallel                yes      yes     yes       no      no      no
choice parallel only               yes      yes     yes       no      no      no

system                             yes      yes     yes       yes     yes     yes
system blocks                      yes      yes     yes       yes     yes     yes
system cache                       yes      yes     yes       no      no      yes
later system                       yes      yes     yes       ~       yes     yes
leading system message             ~        ~       ~         ~       ~       ~

text                               yes      yes     yes       yes     yes     yes
unicode text                       yes      yes     yes       yes     yes     yes
image                              yes      yes     yes       yes     yes     yes
image by url                       yes      yes     yes       yes     no      no
image with type                    ~        ~       ~         yes     no      no
own image file                     yes      no      yes       ~       no      no
foreign image file                 no       no      no        no      no      no
image detail                       no       yes     yes       yes     no      no
document                           yes      yes     yes       yes     no      yes
document filename                  ~        yes     yes       yes     no      ~
document by url                    yes      no      yes       yes     no      no
own document file                  ~        ~       ~         yes     no      no
document of text                   yes      ~       ~         ~       ~       yes
document of markdown               ~        ~       ~         ~       ~       yes
document title                     yes      ~       ~         ~       no      yes
document context                   yes      no      no        no      no      yes
audio                              no       yes     no        yes     no      yes
audio by url                       no       no      no        yes     no      no
video                              no       no      no        yes     no      yes
video by url                       no       no      no        yes     no      no
text cache                         yes      yes     yes       no      no      yes
text cache 1h                      yes      no      no        no      no      yes
text cache 30m                     no       yes     yes       no      no      no
image cache                        yes      yes     yes       no      no      yes
json outside a result              ~        ~       ~         ~       ~       ~
foreign opaque block               no       no      no        no      no      no
foreign block residue              ~        ~       ~         ~       ~       ~

assistant text                     yes      yes     yes       yes     yes     yes
assistant texts                    yes      yes     yes       yes     ~       yes
thinking                           yes      no      yes       yes     ~       yes
thinking without text              yes      no      yes       yes     no      yes
unsigned thinking                  no       no      no        yes     yes     yes
redacted thinking                  yes      no      ~         no      no      yes
thoughts                           no       no      no        yes     ~       yes
text before a thought              yes      yes     yes       yes     ~       yes
signed text                        no       no      no        yes     no      no
refusal                            ~        yes     ~         ~       ~       ~
refusals                           ~        ~       ~         ~       ~       ~
web citation                       ~        no      no        no      no      ~
page citation                      yes      no      no        no      no      yes
call                               yes      yes     yes       yes     yes     yes
call before text                   yes      yes     yes       yes     ~       yes
own block residue                  yes      yes     yes       yes     yes     yes
own opaque block                   yes      yes     yes       yes     no      yes
call without input                 yes      yes     yes       yes     yes     yes
call with deep input               yes      yes     yes       yes     yes     yes
call spelled otherwise             no       yes     yes       no      no      no
malformed call                     no       yes     yes       no      no      no
free-text call                     ~        yes     yes       ~       ~       ~
signed call                        no       no      no        yes     no      no
call cache                         yes      no      no        no      no      yes
call with odd id                   ~        ~       ~         yes     yes     ~
own server call                    yes      no      yes       yes     no      yes
own server result                  yes      no      ~         ~       no      yes
foreign server call                no       no      no        no      no      no
assistant audio                    no       ~       no        ~       no      no
assistant image                    no       no      no        yes     ~       no
cut text                           no       no      no        no      no      no
cut call                           no       no      no        no      no      no
parallel calls                     yes      yes     yes       yes     yes     yes
own message residue                yes      yes     yes       yes     yes     yes
own request residue                yes      yes     yes       yes     yes     yes
foreign request residue            ~        ~       ~         ~       ~       ~

result                             yes      yes     yes       yes     yes     yes
result name                        no       no      yes       yes     yes     no
empty result                       yes      yes     yes       yes     yes     yes
result of texts                    yes      yes     yes       ~       ~       yes
result with image                  yes      ~       yes       yes     yes     yes
result with document               yes      ~       yes       yes     no      yes
result of JSON                     ~        ~       ~         yes     ~       yes
result of JSON text                yes      yes     yes       ~       yes     yes
result failed                      yes      ~       ~         yes     ~       yes
result not failed                  yes      no      no        no      no      yes
result cache                       yes      no      ~         no      no      yes
"""

ANSWERS = """
concept                         anthropic  chat  responses  gemini  ollama  bedrock

assistant text                     yes      yes     yes       yes     yes     yes
assistant texts                    yes      ~       yes       yes     ~       yes
thinking                           yes      ~       yes       yes     ~       yes
thinking without text              yes      no      yes       yes     no      yes
unsigned thinking                  yes      yes     yes       yes     yes     yes
redacted thinking                  yes      no      ~         no      no      yes
thoughts                           yes      ~       yes       yes     ~       yes
text before a thought              yes      yes     yes       yes     ~       yes
signed text                        no       no      no        yes     no      no
refusal                            ~        yes     yes       ~       ~       ~
refusals                           ~        ~       yes       ~       ~       ~
web citation                       ~        yes     yes       yes     no      ~
page citation                      yes      ~       ~         ~       no      yes
call                               yes      yes     yes       yes     yes     yes
call before text                   yes      yes     yes       yes     ~       yes
own block residue                  yes      yes     yes       yes     yes     yes
own opaque block                   yes      yes     yes       yes     no      yes
call without input                 yes      yes     yes       yes     yes     yes
call with deep input               yes      yes     yes       yes     yes     yes
call spelled otherwise             no       yes     yes       no      no      no
malformed call                     no       yes     yes       no      no      no
free-text call                     ~        yes     yes       ~       ~       ~
signed call                        no       no      no        yes     no      no
call cache                         yes      no      no        no      no      yes
own server call                    yes      no      yes       yes     no      yes
own server result                  yes      no      ~         ~       no      yes
foreign server call                no       no      no        no      no      no
assistant audio                    no       ~       no        ~       no      no
assistant image                    yes      no      yes       yes     ~       yes
parallel calls                     yes      yes     yes       yes     yes     yes
cut call                           yes      yes     yes       no      no      yes
nothing said                       yes      yes     yes       yes     yes     yes

stop end_turn                      yes      yes     yes       yes     yes     yes
stop max_tokens                    yes      yes     yes       yes     yes     yes
stop stop_sequence                 yes      ~       ~         ~       ~       yes
stop tool_use                      yes      yes     yes       yes     yes     yes
stop pause_turn                    yes      ~       ~         yes     ~       ~
stop refusal                       yes      yes     yes       yes     ~       yes
stop context_overflow              yes      ~       ~         ~       ~       yes

usage cached                       yes      yes     yes       yes     ~       yes
usage written                      yes      yes     yes       ~       ~       yes
usage reasoning                    yes      yes     yes       yes     no      no
usage of zero                      yes      yes     yes       yes     yes     yes
no usage                           yes      yes     yes       yes     yes     yes
no id                              yes      yes     yes       yes     yes     yes
no model                           yes      yes     yes       yes     yes     yes
own residue                        yes      yes     yes       yes     yes     yes
foreign residue                    ~        ~       ~         ~       ~       ~
"""

WORDS: dict[str, Word] = {"yes": "yes", "~": "almost", "no": "no"}


def read(table: str) -> dict[str, dict[str, Word]]:
    """The cells by concept, then by dialect."""
    found: dict[str, dict[str, Word]] = {}
    for line in table.splitlines()[2:]:
        *concept, a, b, c, d, e, f = line.split() or [""] * 7
        if concept and a:
            found[" ".join(concept)] = dict(zip(COLUMNS, (WORDS[word] for word in (a, b, c, d, e, f)), strict=True))
    return found
