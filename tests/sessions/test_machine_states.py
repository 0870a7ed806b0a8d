"""Errors about the state of the machine, met by another command than the one that first failed.

Each case is a session that met an error and repaired it, and what another command prints later. Whether the recipe has
to do with that was written down before anything was run.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import shell
from sessions.test_recipe_causes import edit, shown

DOCKER_DOWN = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
DOCKER_API = (
    "failed to connect to the docker API at unix:///run/user/1000/docker.sock; check if the path is correct and if the "
    "daemon is running: dial unix /run/user/1000/docker.sock: connect: no such file or directory"
)
DOCKER_DENIED = (
    "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get "
    '"http://%2Fvar%2Frun%2Fdocker.sock/v1.47/containers/json": dial unix /var/run/docker.sock: connect: permission '
    "denied"
)
PSQL = (
    'psql: error: connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused\n'
    "\tIs the server running on that host and accepting TCP/IP connections?"
)
ALCHEMY = (
    'Traceback (most recent call last):\n  File "/srv/w/env.py", line 9, in run\nsqlalchemy.exc.OperationalError: '
    '(psycopg2.OperationalError) connection to server at "localhost" (::1), port 5432 failed: Connection refused\n'
    "\tIs the server running on that host and accepting TCP/IP connections?\n\n(Background on this error at: "
    "https://sqlalche.me/e/20/e3q8)"
)
OLD_DRIVER = (
    "django.db.utils.OperationalError: could not connect to server: Connection refused\n\tIs the server running on "
    'host "localhost" (127.0.0.1) and accepting\n\tTCP/IP connections on port 5432?'
)
PG_SOCKET = (
    'psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed: No such file or '
    "directory\n\tIs the server running locally and accepting connections on that socket?"
)
NO_MYSQL = "Can't connect to local MySQL server through socket '/var/run/mysqld/mysqld.sock' (2)"
TAKEN_4000 = (
    "node:events:497\n      throw er; // Unhandled 'error' event\n      ^\n\n"
    "Error: listen EADDRINUSE: address already in use :::4000\n"
    "    at Server.setupListenHandle [as _listen2] (node:net:1898:16) {\n  code: 'EADDRINUSE',\n  port: 4000\n}"
)
GO_TAKEN = "2026/03/02 09:14:07 listen tcp :{port}: bind: address already in use\nexit status 1"
GO_REFUSED = "--- FAIL: TestStore (0.01s)\n    store_test.go:12: dial tcp {host}: connect: connection refused\nFAIL"
NO_REDIS = "Could not connect to Redis at 127.0.0.1:6379: Connection refused"
IN_USE = (
    'Traceback (most recent call last):\n  File "/usr/lib/a.py", line 3\nOSError: [Errno 98] Address already in use'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A session that repaired an error, and what another command printed later.

    Attributes:
        command: What failed in the session.
        printed: What it printed.
        repair: What the session did about it, after which the command passed.
        later: The other command.
        error: What that printed.
    """

    command: str
    printed: str
    repair: str | Step
    later: str
    error: str

    def learn(self, bank: Bank) -> None:
        """Make the recipe of the session."""
        repair = shell(self.repair, "done") if isinstance(self.repair, str) else self.repair
        steps = (shell(self.command, self.printed, 1), repair, shell(self.command, "ready"))
        bank.sessions.keep(Trajectory(task="Make it run", steps=steps, session="s1"))
        bank.jobs.work()


SAME = {
    "a port, of another program of the same runtime": Met(
        command="node app.js", printed=TAKEN_4000, repair="fuser -k 4000/tcp",
        later="node worker.js", error="Error: listen EADDRINUSE: address already in use 0.0.0.0:4000",
    ),
    "a port that stands in the command alone": Met(
        command="python3 -m http.server 8000", printed=IN_USE, repair="fuser -k 8000/tcp",
        later="uvicorn shop:app --port 8000",
        error="ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already "
              "in use",
    ),
    "a port that a container publishes": Met(
        command="docker compose up -d",
        printed="Error response from daemon: driver failed programming external connectivity on endpoint web (3f0c): "
                "Bind for 0.0.0.0:8080 failed: port is already allocated",
        repair="docker rm -f old_web",
        later="go run ./cmd/shop", error=GO_TAKEN.format(port=8080),
    ),
    "a port that is told in the second line": Met(
        command="flask run", repair="kill 811",
        printed="Address already in use\nPort 5000 is in use by another program. Either identify and stop that "
                "program, or start the server with a different port.",
        later="gunicorn shop:app",
        error="[2026-03-02 09:14:07 +0000] [12] [ERROR] Connection in use: ('127.0.0.1', 5000)",
    ),
    "a port that tests want": Met(
        command="npm start", printed="Error: Port 5173 is already in use", repair="fuser -k 5173/tcp",
        later="npx playwright test",
        error="Error: http://localhost:5173 is already used, make sure that nothing is running on the port/url or set "
              "reuseExistingServer:true in config.webServer.",
    ),
    "a port of Ruby and of Java": Met(
        command="bundle exec puma", repair="kill $(cat tmp/pids/server.pid)",
        printed='Address already in use - bind(2) for "127.0.0.1" port 3000 (Errno::EADDRINUSE)',
        later="java -jar shop.jar",
        error="***************\nAPPLICATION FAILED TO START\n***************\n\nDescription:\n\n"
              "Web server failed to start. Port 3000 was already in use.",
    ),
    "the socket of Docker, of another of its commands": Met(
        command="docker build -t shop .", printed=f"ERROR: {DOCKER_DOWN}", repair="sudo systemctl start docker",
        later="docker compose up -d", error=DOCKER_DOWN,
    ),
    "the socket of Docker, in the words of a newer version": Met(
        command="docker build -t shop .", printed=f"ERROR: {DOCKER_DOWN}", repair="sudo systemctl start docker",
        later="docker run --rm shop", error=DOCKER_API,
    ),
    "the socket of Docker, through a library": Met(
        command="docker compose up -d", printed=DOCKER_DOWN, repair="sudo systemctl start docker",
        later="python3 tools/images.py",
        error='Traceback (most recent call last):\n  File "/srv/w/tools/images.py", line 4, in <module>\n'
              "docker.errors.DockerException: Error while fetching server API version: ('Connection aborted.', "
              "FileNotFoundError(2, 'No such file or directory'))",
    ),
    "the socket of Docker, from Node": Met(
        command="docker compose up -d", printed=DOCKER_DOWN, repair="sudo systemctl start docker",
        later="npm run e2e", error="Error: connect ENOENT /var/run/docker.sock",
    ),
    "a database, through its client and a library": Met(
        command="psql -h localhost -f tables.sql", printed=PSQL, repair="docker start shop-db",
        later="alembic upgrade head", error=ALCHEMY,
    ),
    "a database, in an older driver's words": Met(
        command="npm start", printed="Error: connect ECONNREFUSED 127.0.0.1:5432", repair="docker start shop-db",
        later="python3 manage.py migrate", error=OLD_DRIVER,
    ),
    "a database, through Prisma": Met(
        command="npx prisma migrate dev", repair="docker compose up -d db",
        printed="Error: P1001: Can't reach database server at `localhost:5432`\n\nPlease make sure your database "
                "server is running at `localhost:5432`.",
        later="psql -h localhost -f tables.sql", error=PSQL,
    ),
    "a database, from Java and from Go": Met(
        command="java -jar shop.jar", repair="docker start shop-db",
        printed="org.postgresql.util.PSQLException: Connection to localhost:5432 refused. Check that the hostname and "
                "port are correct and that the postmaster is accepting TCP/IP connections.",
        later="go test ./...", error=GO_REFUSED.format(host="[::1]:5432"),
    ),
    "a database on another address of this machine": Met(
        command="npm start", printed="Error: connect ECONNREFUSED ::1:5432", repair="docker start shop-db",
        later="alembic upgrade head", error=ALCHEMY,
    ),
    "a database behind a socket": Met(
        command="psql -f tables.sql", printed=PG_SOCKET, repair="sudo service postgresql start",
        later="bin/rails db:migrate",
        error='ActiveRecord::ConnectionNotEstablished: connection to server on socket '
              '"/run/postgresql/.s.PGSQL.5432" failed: Connection refused',
    ),
    "MySQL behind a socket": Met(
        command="mysql shop < tables.sql", printed=f"ERROR 2002 (HY000): {NO_MYSQL}", repair="sudo service mysql start",
        later="python3 load.py",
        error=f'Traceback (most recent call last):\n  File "/srv/w/load.py", line 4, in <module>\n'
              f'MySQLdb.OperationalError: (2002, "{NO_MYSQL}")',
    ),
    "Redis, in a test": Met(
        command="redis-cli flushall", printed=NO_REDIS, repair="redis-server --daemonize yes",
        later="pytest -q",
        error="FAILED tests/test_cart.py::test_add - redis.exceptions.ConnectionError: Error 111 connecting to "
              "localhost:6379. Connection refused.\n1 failed in 0.4s",
    ),
    "MongoDB": Met(
        command="node seed.js", printed="MongoServerSelectionError: connect ECONNREFUSED 127.0.0.1:27017",
        repair="docker start mongo", later="python3 report.py",
        error="pymongo.errors.ServerSelectionTimeoutError: localhost:27017: [Errno 111] Connection refused (configured "
              "timeouts: socketTimeoutMS: 20000.0ms, connectTimeoutMS: 20000.0ms), Timeout: 30s",
    ),
    "a cluster": Met(
        command="kubectl apply -f shop.yaml", repair="minikube start",
        printed="The connection to the server localhost:8080 was refused - did you specify the right host or port?",
        later="helm upgrade shop chart",
        error='Error: Kubernetes cluster unreachable: Get "http://localhost:8080/version": dial tcp 127.0.0.1:8080: '
              "connect: connection refused",
    ),
    "a role that another driver asks for": Met(
        command="python3 load.py", repair="createuser app",
        printed='psycopg2.OperationalError: connection to server at "localhost" (127.0.0.1), port 5432 failed: FATAL:  '
                'role "app" does not exist',
        later="npm run seed", error='error: role "app" does not exist',
    ),
    "a database that is not there": Met(
        command="psql shop", printed='psql: error: FATAL:  database "shop" does not exist', repair="createdb shop",
        later="python3 manage.py migrate",
        error='django.db.utils.OperationalError: FATAL:  database "shop" does not exist',
    ),
    "a program that may not run, with another task": Met(
        command="./gradlew build", printed="bash: ./gradlew: Permission denied", repair="chmod +x gradlew",
        later="./gradlew test", error="/bin/sh: 1: ./gradlew: Permission denied",
    ),
    "a service of one's own": Met(
        command="npx newman run shop.json", printed="Error: connect ECONNREFUSED 127.0.0.1:8000",
        repair="docker compose up -d api", later="pytest -q e2e",
        error="E   requests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port=8000): Max retries "
              "exceeded with url: /v1 (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at "
              "0x7f02>: Failed to establish a new connection: [Errno 111] Connection refused'))\n1 error in 0.2s",
    ),
}  # fmt: skip

OTHER = {
    "another role": Met(
        command="psql shop", printed='psql: error: FATAL:  role "app" does not exist', repair="createuser app",
        later="npm run seed", error='error: role "till" does not exist',
    ),
    "another program that may not run": Met(
        command="./gradlew build", printed="bash: ./gradlew: Permission denied", repair="chmod +x gradlew",
        later="./deploy.sh", error="bash: ./deploy.sh: Permission denied",
    ),
    "another port of another command": Met(
        command="node app.js", printed=TAKEN_4000, repair="fuser -k 4000/tcp",
        later="node worker.js", error="Error: listen EADDRINUSE: address already in use :::4100",
    ),
    "a port whose number only begins alike": Met(
        command="nginx", printed="nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)",
        repair="sudo systemctl stop apache2", later="go run ./cmd/shop", error=GO_TAKEN.format(port=8080),
    ),
    "no port is told": Met(
        command="python3 desk.py", printed=IN_USE, repair="pkill -f old_desk.py", later="python3 mail.py", error=IN_USE,
    ),
    "the port was moved in a file of the other program": Met(
        command="node app.js", printed=TAKEN_4000, repair=edit("app.js", "listen(4000)", "listen(4001)"),
        later="node worker.js", error="Error: listen EADDRINUSE: address already in use :::4000",
    ),
    "the port was moved in a file of a program that says so in words": Met(
        command="bundle exec puma", repair=edit("config/puma.rb", "port 3000", "port 3001"),
        printed='Address already in use - bind(2) for "127.0.0.1" port 3000 (Errno::EADDRINUSE)',
        later="java -jar shop.jar", error="Web server failed to start. Port 3000 was already in use.",
    ),
    "a port that is taken and one that refuses": Met(
        command="docker compose up -d db", repair="sudo systemctl stop postgresql",
        printed="Error response from daemon: Bind for 0.0.0.0:5432 failed: port is already allocated",
        later="psql -h localhost -f tables.sql", error=PSQL,
    ),
    "a service that refuses and a port that is taken": Met(
        command="npm start", printed="Error: connect ECONNREFUSED 127.0.0.1:4000", repair="docker start api",
        later="node app.js", error=TAKEN_4000,
    ),
    "a daemon that is not there and one that is not allowed": Met(
        command="docker build -t shop .", printed=f"ERROR: {DOCKER_DOWN}", repair="sudo systemctl start docker",
        later="docker compose up -d", error=DOCKER_DENIED,
    ),
    "a daemon that is not allowed and one that is not there": Met(
        command="docker build -t shop .", printed=f"ERROR: {DOCKER_DENIED}", repair="sudo usermod -aG docker kim",
        later="docker compose up -d", error=DOCKER_DOWN,
    ),
    "another service": Met(
        command="npm start", printed="Error: connect ECONNREFUSED 127.0.0.1:5432", repair="docker start shop-db",
        later="pytest -q", error=NO_REDIS,
    ),
    "the same service of another machine": Met(
        command="npm start", printed="Error: connect ECONNREFUSED 127.0.0.1:5432", repair="docker start shop-db",
        later="psql -h db.example.com",
        error='psql: error: connection to server at "db.example.com" (203.0.113.9), port 5432 failed: Connection '
              "refused",
    ),
    "two machines": Met(
        command="git push origin main", repair="sudo systemctl start ssh",
        printed="ssh: connect to host one.example.com port 22: Connection refused",
        later="rsync -a out kim@two.example.com:www",
        error="ssh: connect to host two.example.com port 22: Connection refused",
    ),
    "a line of a file that looks like a port": Met(
        command="go test ./store", printed=GO_REFUSED.format(host="127.0.0.1:5432"), repair="docker start shop-db",
        later="go test ./queue", error=GO_REFUSED.format(host="127.0.0.1:5672").replace("store", "queue"),
    ),
    "a service that does not say its port": Met(
        command="cargo run", repair="docker start shop-db",
        printed="Error: error communicating with database: Connection refused (os error 111)",
        later="cargo test", error="Error: error communicating with broker: Connection refused (os error 111)",
    ),
    "a port that the system gave out": Met(
        command="npm test", printed="Error: connect ECONNREFUSED 127.0.0.1:41237", repair="docker start api",
        later="pytest -q", error="ConnectionError: Error 111 connecting to localhost:41237. Connection refused.",
    ),
    "sockets of two databases": Met(
        command="psql -f tables.sql", printed=PG_SOCKET, repair="sudo service postgresql start",
        later="mysql shop", error=f"ERROR 2002 (HY000): {NO_MYSQL}",
    ),
    "sockets of two daemons": Met(
        command="docker compose up -d", printed=DOCKER_DOWN, repair="sudo systemctl start docker",
        later="nerdctl ps",
        error='cannot access containerd socket "/run/containerd/containerd.sock": dial unix '
              "/run/containerd/containerd.sock: connect: connection refused",
    ),
    "a daemon on another machine": Met(
        command="docker compose up -d", repair="docker context use default",
        printed="Cannot connect to the Docker daemon at tcp://10.0.0.4:2375. Is the docker daemon running?",
        later="docker ps", error=DOCKER_DOWN,
    ),
    "an assertion that quotes it": Met(
        command="bundle exec puma", repair="docker stop web",
        printed='Address already in use - bind(2) for "127.0.0.1" port 3000 (Errno::EADDRINUSE)',
        later="pytest -q", error="FAILED tests/test_say.py::test_say - AssertionError: assert 'port 3000 is already in "
                                 "use' in 'ok'",
    ),
    "a file of Docker's that is missing": Met(
        command="docker compose up -d", printed=DOCKER_DOWN, repair="sudo systemctl start docker",
        later="python3 tools/mirror.py",
        error="FileNotFoundError: [Errno 2] No such file or directory: '/etc/docker/daemon.json'",
    ),
    "a service that does not answer": Met(
        command="npm start", printed="Error: connect ECONNREFUSED 127.0.0.1:5432", repair="docker start shop-db",
        later="node seed.js", error="Error: connect ETIMEDOUT 127.0.0.1:5432",
    ),
    "a service that lets nobody in": Met(
        command="psql -h localhost -f tables.sql", printed=PSQL, repair="docker start shop-db",
        later="psql -h localhost -U kim",
        error='psql: error: connection to server at "localhost" (127.0.0.1), port 5432 failed: FATAL:  password '
              'authentication failed for user "kim"',
    ),
    "a host that is not known": Met(
        command="npm start", printed="Error: connect ECONNREFUSED 127.0.0.1:5432", repair="docker start shop-db",
        later="node seed.js", error="Error: getaddrinfo ENOTFOUND db",
    ),
    "a service with too many guests": Met(
        command="psql -h localhost -f tables.sql", printed=PSQL, repair="docker start shop-db",
        later="node seed.js",
        error='error: connection to server at "localhost" (127.0.0.1), port 5432 failed: FATAL:  sorry, too many '
              "clients already",
    ),
}  # fmt: skip


@promise("recipes:same-cause")
@pytest.mark.parametrize("name", SAME)
def test_another_command_that_meets_the_same_state_is_shown_the_recipe(open_learning_bank: OpenBank, name: str) -> None:
    case, bank = SAME[name], open_learning_bank(None)
    case.learn(bank)
    assert "What changed:" in shown(bank, case.later, case.error)


@promise("recipes:same-cause")
@pytest.mark.parametrize("name", OTHER)
def test_another_state_is_shown_no_recipe(open_learning_bank: OpenBank, name: str) -> None:
    case, bank = OTHER[name], open_learning_bank(None)
    case.learn(bank)
    assert shown(bank, case.later, case.error) == ""
    assert "What changed:" in shown(bank, case.command, case.printed)


@promise("credit:own-error")
@pytest.mark.parametrize("captured", [False, True])
def test_a_recipe_is_credited_in_the_other_words_too(open_learning_bank: OpenBank, captured: bool) -> None:
    case, bank = SAME["a database, in an older driver's words"], open_learning_bank(None)
    case.learn(bank)
    (memory,) = bank.memories.list()
    assert bank.recipes.briefing(case.error, session="s2", command=case.later).items
    if captured:
        steps = (shell(case.later, case.error, 1), shell(str(case.repair), "done"), shell(case.later, "OK"))
        bank.sessions.keep(Trajectory(task="Migrate the tables", steps=steps, session="s2"))
    bank.sessions.outcome("s2", True)
    assert bank.get(memory.id).confidence > memory.confidence
