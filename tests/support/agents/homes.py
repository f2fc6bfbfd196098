"""Real agents, each with a home of its own, dummy keys, telemetry off, and memory by `pi-rank install`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pi_rank.daemon import process
from pi_rank.daemon.client import socket_path

PACKAGES = {
    "pi": ("@mariozechner/pi-coding-agent", "pi"),
    "claude-code": ("@anthropic-ai/claude-code", "claude"),
    "codex": ("@openai/codex", "codex"),
    "opencode": ("opencode-ai", "opencode"),
    "gemini-cli": ("@google/gemini-cli", "gemini"),
}
TURN_SECONDS = 120


def program(agent):
    """The agent's command: under PI_RANK_AGENTS, where `npm install --prefix FOLDER/AGENT PACKAGE` put it."""
    package, name = PACKAGES[agent]
    folder = os.environ.get("PI_RANK_AGENTS")
    if not folder:
        pytest.skip("real agents run where PI_RANK_AGENTS names a folder with them (see CONTRIBUTING.md)")
    found = Path(folder, agent, "node_modules", ".bin", name)
    if not found.exists():
        pytest.skip(f"{package} is not installed in {folder}")
    return str(found.absolute())


class Agent:
    """One agent with one project. `run` is one process of it in the project's folder."""

    def __init__(self, name, server, tmp_path, root):
        self.name = name
        self.program = program(name)
        self.server = server
        self.home = tmp_path / "home"
        self.project = tmp_path / "work" / "orchard-api"
        self.project.mkdir(parents=True)
        (self.project / ".git").mkdir()
        self.home.mkdir()
        self.cache = Path(tempfile.mkdtemp(prefix="pi"))  # a socket's path has a limit
        self.variables = {
            "PI_RANK_CACHE_DIR": str(self.cache),
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PI_MEMORY_ROOT": str(root),
            "TERM": "xterm-256color",
        }
        self.outputs = []

    def pi_rank(self, *words):
        """One of our own commands, as this agent's user."""
        command = [sys.executable, "-m", "pi_rank.cli", *words]
        return subprocess.run(
            command, env=self.variables, cwd=self.project, check=True, capture_output=True, text=True
        )

    def install(self, *options):
        """Memory for this agent, with time enough for a machine that is busy with other tests."""
        return self.pi_rank("install", self.name, "--deadline-ms", "20000", *options)

    def run(self, *words, stdin=None):
        """One process of the agent; what it wrote on stdout."""
        done = subprocess.run(
            [self.program, *words],
            env=self.variables,
            cwd=self.project,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=TURN_SECONDS,
        )
        self.outputs.append((words, done.returncode, done.stdout, done.stderr))
        assert done.returncode == 0, self.outputs[-1]
        return done.stdout

    @property
    def daemon(self):
        """The number of the warm process that the agent's hooks have started."""
        return process.running(Path(socket_path(self.variables)))

    def close(self):
        """End that process."""
        process.stop(Path(socket_path(self.variables)))
        shutil.rmtree(self.cache)

    def write(self, path, value):
        """A file of the agent's own configuration."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2), "utf-8")


def memory_copy(tmp_path, sample):
    """A memory root of its own, which a test may change."""
    root = tmp_path / "memory"
    shutil.copytree(sample, root)
    return root


def pi(server, tmp_path, root):
    """The pi coding agent, on Anthropic's API."""
    agent = Agent("pi", server, tmp_path, root)
    folder = agent.home / ".pi" / "agent"
    agent.variables |= {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}
    model = {"id": "scripted", "reasoning": False, "contextWindow": 200_000, "maxTokens": 4096}
    provider = {
        "baseUrl": f"http://127.0.0.1:{server.port}",
        "api": "anthropic-messages",
        "apiKey": "dummy-key",
        "models": [model],
    }
    agent.write(folder / "models.json", {"providers": {"scripted": provider}})
    return agent


PI_OPTIONS = ("--provider", "scripted", "--model", "scripted", "--no-skills", "--no-context-files")


def claude_code(server, tmp_path, root):
    """Claude Code."""
    agent = Agent("claude-code", server, tmp_path, root)
    agent.variables |= {
        "CLAUDE_CONFIG_DIR": str(agent.home / ".claude"),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}",
        "ANTHROPIC_API_KEY": "dummy-key",
        "ANTHROPIC_MODEL": "claude-sonnet-4-5",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return agent


CLAUDE_OPTIONS = ("--allowedTools", "Bash(echo:*)", "--output-format", "json")


def codex(server, tmp_path, root):
    """Codex CLI. A model that it does not know gets plain tools."""
    agent = Agent("codex", server, tmp_path, root)
    agent.variables |= {"CODEX_HOME": str(agent.home / ".codex"), "DUMMY_KEY": "dummy-key"}
    config = f"""\
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "read-only"

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{server.port}/v1"
env_key = "DUMMY_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[features]
plugins = false
apps = false

[analytics]
enabled = false

[feedback]
enabled = false
"""
    agent.write(agent.home / ".codex" / "config.toml", config)
    return agent


# A hook that nobody has reviewed is skipped in silence.
CODEX_OPTIONS = ("--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--json")


def opencode(server, tmp_path, root):
    """opencode, with its own plugin package in place, which it would fetch from npm."""
    agent = Agent("opencode", server, tmp_path, root)
    names = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
    agent.variables |= {f"OPENCODE_DISABLE_{name}": "1" for name in names}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"http://127.0.0.1:{server.port}/v1", "apiKey": "dummy-key"},
        "models": {"scripted": {"name": "scripted", "limit": {"context": 200_000, "output": 4096}}},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": {"bash": "allow"},
        "provider": {"scripted": provider},
    }
    folder = agent.home / ".config" / "opencode"
    agent.write(folder / "opencode.json", config)
    for name in ("node_modules", "package.json", "package-lock.json"):
        there = Path(os.environ["PI_RANK_AGENTS"], "opencode-plugin", name)
        if not there.exists():
            pytest.skip(f"@opencode-ai/plugin is not installed in {there.parent}")
        (folder / name).symlink_to(there)
    return agent


def gemini_cli(server, tmp_path, root):
    """Gemini CLI."""
    agent = Agent("gemini-cli", server, tmp_path, root)
    agent.variables |= {
        "GEMINI_API_KEY": "dummy-key",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{server.port}",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_NO_RELAUNCH": "1",
    }
    settings = {
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "hooksConfig": {"enabled": True},
    }
    agent.write(agent.home / ".gemini" / "settings.json", settings)
    return agent


GEMINI_OPTIONS = ("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "--output-format", "json")
