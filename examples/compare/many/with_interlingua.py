import json
import os

from interlingua import map_requests_sync

prompts = [f"question {n}" for n in range(500)]
with map_requests_sync(
    prompts, "openai-chat:gpt-4o-mini", concurrency=20, base_url=os.environ["BASE"] + "/v1", api_key="k"
) as results:
    good = [result.text for result in results if result.error is None]
report = results.report
print(
    json.dumps(
        {
            "done": len(good),
            "in_order": good == [prompt.upper() for prompt in prompts],
            "tokens": report.usage.total_tokens,
            "cost": report.cost_usd,
        }
    )
)
