import json
import os

import litellm

prompts = [f"question {n}" for n in range(500)]
results = litellm.batch_completion(
    model="openai/gpt-4o-mini",
    api_base=os.environ["BASE"] + "/v1",
    api_key="k",
    max_workers=20,
    num_retries=2,
    messages=[[{"role": "user", "content": prompt}] for prompt in prompts],
)
good = [result for result in results if not isinstance(result, Exception)]
print(
    json.dumps(
        {
            "done": len(good),
            "in_order": [result.choices[0].message.content for result in good]
            == [prompt.upper() for prompt in prompts],
            "tokens": sum(result.usage.total_tokens for result in good),
            "cost": sum(result._hidden_params.get("response_cost") or 0 for result in good),
        }
    )
)
