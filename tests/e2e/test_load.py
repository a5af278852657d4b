"""Many at once: every command is answered, once, to the one who asked."""

import concurrent.futures
import secrets

from mcp_client import McpClient

CLIENTS = 32
SANDBOXES = 4
COMMANDS = 2000


def test_32_clients_in_4_sandboxes_get_2000_answers_of_their_own(stack):
    labels = [f"load-{secrets.token_hex(3)}-{n}" for n in range(SANDBOXES)]

    def client(number):
        wrong = []
        with McpClient(stack.url, stack.key) as mine:
            for turn in range(COMMANDS // CLIENTS + (number < COMMANDS % CLIENTS)):
                label = labels[(number + turn) % SANDBOXES]
                token = f"{number}-{turn}-{secrets.token_hex(8)}"
                result = mine.run(label, f"echo {token}; exit {turn % 50}")
                if (result.output, result.exit_code) != (f"{token}\n", turn % 50):
                    wrong.append((token, result))
                answered[number] += 1
        return wrong

    answered = [0] * CLIENTS
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        wrong = [entry for answers in pool.map(client, range(CLIENTS)) for entry in answers]
    assert sum(answered) == COMMANDS
    assert wrong == []
