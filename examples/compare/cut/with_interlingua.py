import json
import os

from interlingua import AdapterError, SyncSession

pieces, error = [], None
with SyncSession("openai-chat:m", base_url=os.environ["BASE"] + "/v1", api_key="k") as session:
    try:
        with session.stream("Tell me a story.") as stream:
            pieces += stream.text
    except AdapterError as found:
        error = str(found)
print(json.dumps({"text": "".join(pieces), "error": error}))
