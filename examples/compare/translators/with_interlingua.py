from asked import serve, versions

from interlingua import translate_request, translate_response, translate_stream


def told(losses):
    return [{"path": loss.path, "reason": loss.reason} for loss in losses if loss.kind != "added"]


def request(task):
    done = translate_request(
        task["body"], source=task["source"], target=task["target"], model=task["model"], stream=task["stream"]
    )
    return done.body, told(done.losses)


def answer(task):
    done = translate_response(task["body"], source=task["source"], target=task["target"])
    return done.body, told(done.losses)


def stream(task):
    losses = []
    chunks = translate_stream(
        [task["body"].encode()], source=task["source"], target=task["target"], on_loss=losses.append
    )
    return b"".join(chunks).decode(), told(losses)


serve(versions("interlingua"), {"request": request, "answer": answer, "stream": stream})
