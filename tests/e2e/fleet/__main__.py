"""A small fleet of real a2a-sdk agents, each a process of its own, and one caller; obeys orders on standard input.

    python fleet plan.json

The plan names the Collector's addresses, where exchanges go, and the agents with their ports. An order is a line of JSON,
`{"do": NAME, ...}`; the answer is a line on standard output, `{"ok": ..}` or `{"error": ..}`. Every agent stands behind a
recording proxy; a webhook receiver may stand behind one as well. End of input ends the fleet.
"""

import asyncio
import json
import multiprocessing
import sys
import traceback

import agent
import caller
import proxy
import webhook


async def obey(plan):
    tape = proxy.Tape(plan["exchanges"])
    taping = asyncio.create_task(tape.deliver())
    fronts = []
    for name, ports in plan["agents"].items():
        fronts.append(await proxy.front(tape, "agent", ports["front"], ports["back"]))
    hook = plan["webhook"]
    fronts.append(await proxy.front(tape, "webhook", hook["front"], hook["back"]))
    receiver = await webhook.start(plan, hook["back"])
    calls = caller.Caller(plan, receiver, tape)
    await calls.wait_for_agents()
    print(json.dumps({"ok": "ready"}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        try:
            answer = {"ok": await calls.obey(order)}
        except Exception as error:  # told to who gave the order, who fails on it
            answer = {"error": f"{type(error).__name__}: {error}", "where": traceback.format_exc()}
        print(json.dumps(answer, default=str), flush=True)
    calls.flush()
    tape.close()
    await taping
    for server in fronts:
        server.close()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    # Forked before any thread is started, so that the imports are paid for once.
    fork = multiprocessing.get_context("fork")
    agents = [
        fork.Process(target=agent.run, args=(name, ports, plan), daemon=True) for name, ports in plan["agents"].items()
    ]
    for process in agents:
        process.start()
    try:
        asyncio.run(obey(plan))
    finally:
        for process in agents:
            process.terminate()
            process.join(5)


main()
