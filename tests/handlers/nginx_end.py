# SPDX-License-Identifier: Apache-2.0
"""The real nginx of a test, and the replacements by which the examples for nginx use it."""
import programs
from control import wait_until

CONF = """
daemon off;
user root;
worker_processes 2;
pid nginx.pid;
error_log stderr notice;
events {{ }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {http}
    include {folder}/sites.d/*.conf;
}}
"""


class Nginx:
    """One nginx. Its folder stands for /etc/nginx; sites.d has the files of an administrator."""

    def __init__(self, real, systemctl, folder, http=""):
        self.real, self.folder, self.program = real, folder, None
        for name in (folder, folder / "sites.d"):
            name.mkdir(mode=0o755)
        (folder / "nginx.conf").write_text(CONF.format(folder=folder, http=http))
        self._options = ["-e", "stderr", "-p", folder, "-c", "nginx.conf"]
        systemctl.does(shell=f"[ ! -s {folder}/nginx.pid ] || "
                             f"nginx -e stderr -p {folder} -c nginx.conf -s reload")

    def places(self):
        """The replacements in the examples."""
        return {"nginx -t": f"nginx -t -e stderr -p {self.folder} -c nginx.conf",
                "/etc/nginx": self.folder}

    def write_site(self, name, text):
        (self.folder / "sites.d" / f"{name}.conf").write_text(text)

    def remove_site(self, name):
        (self.folder / "sites.d" / f"{name}.conf").unlink()

    def start(self, ready):
        self.program = self.real.start("nginx", *self._options, ready=ready)

    def workers(self):
        return self.program.family() - {self.program.pid}

    def wait_without(self, workers):
        """Waits until these workers have ended: nginx lets old workers finish the connections that
        they have accepted."""
        wait_until(lambda: not workers & self.workers(), what=f"{workers} are gone")


def check(example, *args, code):
    """Runs the hook nginx-check; returns its stderr."""
    programs.find("nginx")
    example.copy_hooks()
    return programs.run(example.hooks / "nginx-check", *args, code=code).stderr
