"""Forty tasks that each need one lesson from a failed session about something like it, written for this evaluation.

A lesson is a title, when it applies and what it says; a task is worded without looking at its lesson's words.
"""

from __future__ import annotations

from typing import NamedTuple


class Needed(NamedTuple):
    """A task and the one lesson it needs."""

    task: str
    title: str
    description: str
    content: str


WRITTEN: tuple[Needed, ...] = (
    Needed(
        "pip install fails in the image build because gcc is not there",
        "Alpine images lack a compiler for source wheels",
        "a Docker build on Alpine installs Python packages with C extensions",
        "The install died while compiling. Use a slim Debian base image, for which binary wheels exist.",
    ),
    Needed(
        "our date tests break every night around twelve",
        "Tests that read the wall clock fail at midnight UTC",
        "a test compares today's date with a stored one",
        "Freezing only one of two clocks made it worse. Inject one clock everywhere and freeze that.",
    ),
    Needed(
        "add a required column to the orders table, which has forty million rows",
        "ALTER TABLE with NOT NULL and a default locked production",
        "a schema migration on a large PostgreSQL table",
        "Add the column nullable, backfill in batches, then set the constraint NOT VALID and validate it.",
    ),
    Needed(
        "why does the webhook endpoint create the customer twice?",
        "Stripe retries deliveries; handlers must be idempotent",
        "events from a payment provider arrive more than once",
        "Deduplicating by timestamp missed some. Store the event id with a unique index and ignore a repeat.",
    ),
    Needed(
        "the CI job hangs forever at the step that runs the server in the background",
        "A background process keeps the runner's pipe open",
        "a workflow step starts a daemon with an ampersand",
        "Adding sleep did not help. Redirect stdout and stderr of the daemon to a file and use setsid.",
    ),
    Needed(
        "React list shows stale input text after I delete a row",
        "Array index as key mixes up component state",
        "rows of a list are removed or reordered in JSX",
        "Forcing a re-render was the wrong cure. Give each element a stable id as its key.",
    ),
    Needed(
        "memory of the Go service grows until it is killed, pprof shows many goroutines",
        "Unread response bodies leak connections and goroutines",
        "an http client calls another service in a loop",
        "Raising the limit only delayed it. Read the body to its end and close it, also for error statuses.",
    ),
    Needed(
        "cargo build cannot find openssl on the musl target",
        "Cross-compiling to musl breaks on the system's OpenSSL",
        "a static Rust binary that speaks TLS",
        "Setting OPENSSL_DIR led nowhere. Switch the features of reqwest to rustls-tls.",
    ),
    Needed(
        "git says refusing to merge, the two branches have nothing in common",
        "A shallow clone has no merge base",
        "history was fetched with depth one in a pipeline",
        "Do not pass --allow-unrelated-histories. Fetch with --unshallow first.",
    ),
    Needed(
        "users in Turkey cannot log in with upper-case e-mail addresses",
        "Lower-casing by locale turns I into a dotless letter",
        "identifiers are compared after toLowerCase",
        "Trimming changed nothing. Fold case with the root locale.",
    ),
    Needed(
        "the CSV export opens with strange characters in Excel",
        "Excel needs a byte order mark to see UTF-8",
        "a spreadsheet is downloaded as comma-separated text",
        "Changing the content type had no effect. Write the text with utf-8-sig.",
    ),
    Needed(
        "make the nightly backup of the database small enough for the disk",
        "Compressing pg_dump's plain format afterwards filled the volume",
        "dumps of a big database on a tight disk",
        "The uncompressed file came first. Dump in the custom format, which compresses while it writes.",
    ),
    Needed(
        "kubernetes restarts the pod although the app answers fine by hand",
        "Liveness probe times out during garbage collection",
        "a container is killed with exit code 137 or a failed health check",
        "More replicas did not cure it. Raise timeoutSeconds and failureThreshold of the probe.",
    ),
    Needed(
        "webpack bundle is four megabytes since we added icons",
        "Importing an icon library by its root defeats tree shaking",
        "the size of a JavaScript bundle jumps",
        "Minifying again saved nothing. Import each icon from its own path.",
    ),
    Needed(
        "numbers in the invoice are off by one cent",
        "Binary floats cannot hold prices",
        "money is summed or rounded",
        "Rounding every step made the total worse. Keep integer cents or Decimal, round once at the end.",
    ),
    Needed(
        "the scraper gets 429 after a few hundred pages",
        "Fixed sleeps do not satisfy a rate limiter",
        "a site answers too many requests",
        "Rotating agents got us banned. Honour Retry-After and back off with jitter.",
    ),
    Needed(
        "jest passes alone but fails when the whole suite runs",
        "A module-level cache survives between tests",
        "order of test files changes the result",
        "Running serially only hid it. Reset modules in beforeEach.",
    ),
    Needed(
        "ssh from the deploy script asks for a password on the new host",
        "authorized_keys with group write permission is ignored",
        "public key login is refused without a message",
        "Copying the key again was useless. chmod 600 the file and 700 the directory.",
    ),
    Needed(
        "Android build says duplicate class kotlin.collections",
        "Two versions of the Kotlin standard library in one app",
        "Gradle reports a class that is defined twice",
        "Excluding one module moved the error. Align all with the Kotlin BOM.",
    ),
    Needed(
        "the model's loss becomes NaN after some thousand steps in half precision",
        "fp16 gradients overflow without loss scaling",
        "training diverges in mixed precision",
        "A smaller learning rate only postponed it. Use bf16, or a GradScaler.",
    ),
    Needed(
        "Redis loses the queue when the machine reboots",
        "Snapshots alone drop the last minutes",
        "an in-memory store must survive a restart",
        "Saving more often was too slow. Turn on appendonly with fsync everysec.",
    ),
    Needed(
        "nginx answers 413 when someone posts a photo",
        "The proxy's body limit is one megabyte by default",
        "uploads through a reverse proxy are refused",
        "The application's own limit was not it. Set client_max_body_size in the server block.",
    ),
    Needed(
        "terraform wants to destroy and recreate the database after I renamed the resource",
        "Renaming an address in state means replacement",
        "a plan shows destroy for something that only moved in code",
        "Editing the state file corrupted it. Add a moved block, or use state mv.",
    ),
    Needed(
        "pandas merge multiplied my rows",
        "Keys that repeat on both sides make a product",
        "a join of two frames yields more lines than either",
        "drop_duplicates afterwards lost data. Pass validate='one_to_many' and clean the key first.",
    ),
    Needed(
        "the button does nothing in Safari on iPhones",
        "click does not bubble from a non-interactive element on iOS",
        "a tap handler is delegated to the document",
        "preventDefault made it worse. Use a real button element or cursor: pointer.",
    ),
    Needed(
        "GraphQL page takes eight seconds, the log shows hundreds of selects",
        "Resolvers that load one parent at a time query N+1 times",
        "nested fields are slow in an API",
        "Caching the response served stale data. Batch with a DataLoader per request.",
    ),
    Needed(
        "systemd unit starts before the network is reachable",
        "network.target does not mean online",
        "a service cannot resolve names at boot",
        "A sleep in ExecStartPre was flaky. Want and order after network-online.target.",
    ),
    Needed(
        "emails from our app land in spam since the domain change",
        "DKIM selector still signs for the old domain",
        "messages fail DMARC alignment",
        "Changing the wording did nothing. Publish a new selector and align the From header.",
    ),
    Needed(
        "the C program crashes only with optimisation on",
        "Signed overflow is undefined and the check was removed",
        "a release build behaves otherwise than a debug build",
        "volatile merely masked it. Test before adding, or compile with -fwrapv.",
    ),
    Needed(
        "celery tasks run twice when they take more than an hour",
        "Visibility timeout hands a long job to a second worker",
        "a task queue on Redis repeats work",
        "Disabling retries had no influence. Raise visibility_timeout above the longest job.",
    ),
    Needed(
        "cannot delete the S3 bucket, it says it is not empty though the console shows nothing",
        "Old versions and delete markers still count as objects",
        "removing versioned storage fails",
        "rm --recursive left them. Delete all versions first, with a lifecycle rule or list-object-versions.",
    ),
    Needed(
        "the modal is hidden behind the header whatever z-index I choose",
        "transform on a parent opens a new stacking context",
        "an overlay is drawn below another element",
        "Higher numbers never help. Render it in a portal at the end of body.",
    ),
    Needed(
        "python script prints nothing when run under the supervisor until it ends",
        "Standard output is block-buffered when it is no terminal",
        "logs of a process appear late in a container",
        "Adding newlines was no remedy. Run with -u or PYTHONUNBUFFERED=1.",
    ),
    Needed(
        "unit tests for the Spring controller return 403 for each POST",
        "CSRF protection is active in MockMvc",
        "requests that change something are forbidden in tests",
        "Logging in as admin did not matter. Add with(csrf()) to the request.",
    ),
    Needed(
        "rsync copies everything again each night although little changed",
        "Modification times are not kept without -t",
        "an incremental copy transfers whole trees",
        "--checksum took hours. Use archive mode so that times are preserved.",
    ),
    Needed(
        "Elasticsearch refuses writes, index is read only",
        "The flood-stage watermark blocks an index on a full disk",
        "documents cannot be stored and the cluster says FORBIDDEN/12",
        "Restarting the node changed nothing. Free space, then clear index.blocks.read_only_allow_delete.",
    ),
    Needed(
        "swift app freezes while it decodes the big JSON",
        "Decoding on the main actor blocks the interface",
        "an iOS view stutters when data arrives",
        "Showing a spinner froze as well. Decode in a detached task and publish the result.",
    ),
    Needed(
        "the regex validator takes minutes on one strange input",
        "Nested quantifiers backtrack exponentially",
        "a pattern match never returns",
        "A timeout only hid it. Make the groups exclusive, or use a linear-time engine.",
    ),
    Needed(
        "docker compose service cannot reach postgres at localhost",
        "Inside a container localhost is the container itself",
        "connection refused between two services of one compose file",
        "Publishing more ports was pointless. Use the service's name as the host.",
    ),
    Needed(
        "Kafka consumer reads the same messages again after each deploy",
        "Offsets were committed before a rebalance finished",
        "a group re-reads records when members change",
        "Setting earliest made it worse. Use static membership and commit on revoke.",
    ),
)
