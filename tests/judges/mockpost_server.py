"""Runs mockpost's Telegram and what it keeps, in mockpost's own environment: `mockpost_server.py PORT`.

The package's own start opens six more ports (mail, file transfer). Ends with its standard input.
"""

import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from mockpost import db
from mockpost.routers import api_messages, telegram


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    await db.init_db()
    yield
    await db.close_db()


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


app = FastAPI(lifespan=lifespan)
app.include_router(telegram.router)
app.include_router(api_messages.router)

if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="info", access_log=False)
