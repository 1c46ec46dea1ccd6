"""A mail server (aiosmtpd) that answers as it is told. Options come as JSON; the port and each mail are printed as lines of JSON."""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

options = json.loads(sys.argv[1])
# A stage and the line that it answers with; "silence" answers nothing.
answers = options.get("answers", {})


def say(value):
    print(json.dumps(value), flush=True)


async def answer(stage, default):
    line = answers.get(stage, default)
    if line == "silence":
        await asyncio.sleep(3600)
    return line


class Handler:
    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        line = await answer("EHLO", None)
        return responses if line is None else [line]

    async def handle_MAIL(self, server, session, envelope, address, mail_options):
        envelope.mail_from = address
        return await answer("MAIL", "250 OK")

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        line = await answer(f"RCPT {address}", await answer("RCPT", "250 OK"))
        if line.startswith("250"):
            envelope.rcpt_tos.append(address)
        return line

    async def handle_DATA(self, server, session, envelope):
        line = await answer("DATA", "250 OK")
        if line.startswith("250"):
            say(
                {
                    "from": envelope.mail_from,
                    "to": envelope.rcpt_tos,
                    "content": envelope.content.decode("latin1"),
                    "tls": session.ssl is not None or server.transport.get_extra_info("ssl_object") is not None,
                    "login": session.auth_data.decode() if session.auth_data else None,
                    "ehlo": session.host_name,
                }
            )
        return line


def authenticate(server, session, envelope, mechanism, data):
    is_right = isinstance(data, LoginPassword) and [data.login.decode(), data.password.decode()] == options["login"]
    if is_right:
        return AuthResult(success=True, auth_data=data.login)
    return AuthResult(success=False, handled=False, message=f"535 5.7.8 not {data.password.decode()}")


def context():
    if "cert" not in options:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(options["cert"], options["key"])
    return made


async def main():
    security = options["security"]
    made = context()

    def protocol():
        return SMTP(
            Handler(),
            tls_context=made if security == "starttls" else None,
            require_starttls=security == "starttls",
            auth_require_tls=security == "starttls",
            authenticator=authenticate if "login" in options else None,
            auth_required="login" in options,
            auth_exclude_mechanism=options.get("without", []),
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=made if security == "tls" else None)
    say({"port": server.sockets[0].getsockname()[1]})
    await asyncio.Event().wait()


asyncio.run(main())
