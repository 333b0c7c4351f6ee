"""The site of format-4.tar.gz: serve.py's, and beside it links that rules refuse, sitemaps, and a second host."""
import threading
import http.server
import serve

MORE = {f"/deep/{i}": serve.art("wells", i, f"<a href=/deep/{i+1}>deeper</a>").replace("chapter", f"level {i} of the deep") for i in range(6)}
LISTED = {f"/listed/{i}": serve.art("maps", i).replace("chapter", f"sheet {i}") for i in range(7)}
serve.P.update(MORE)
serve.P.update(LISTED)
serve.P["/"] = serve.P["/"].replace("</body>", "<a href=/deep/0>deep</a> <a href=/secret/a>secret</a> <a href=http://127.77.3.10:18474/far>far</a> <a href=/noindex>n</a> <a rel=nofollow href=/nofollow>f</a></body>")
serve.P["/noindex"] = serve.art("ferries", 3).replace("<head>", "<head><meta name=robots content=noindex>")
TEXT = {
    "/robots.txt": "User-agent: *\nDisallow: /secret\nSitemap: /maps.xml\n",
    "/maps.xml": "<sitemapindex><sitemap><loc>http://127.77.3.9:18473/map-1.xml</loc></sitemap><sitemap><loc>http://127.77.3.10:18474/map-2.xml</loc></sitemap></sitemapindex>",
    "/map-1.xml": "<urlset>" + "".join(f"<url><loc>http://127.77.3.9:18473/listed/{i}</loc></url>" for i in range(7)) + "".join(f"<url><loc>http://127.77.3.10:18474/far/{i}</loc></url>" for i in range(130)) + "</urlset>",
}

class H(serve.H):
    def do_GET(self):
        text = TEXT.get(self.path)
        if text is None:
            return super().do_GET()
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if "robots" in self.path else "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

class Far(serve.H):
    def do_GET(self):
        body = serve.art("lamps", 5).replace("chapter", "far" + self.path).encode()
        code = 404 if self.path in ("/robots.txt", "/sitemap.xml") else 200
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

if __name__ == "__main__":
    threading.Thread(target=http.server.ThreadingHTTPServer(("127.77.3.10", 18474), Far).serve_forever, daemon=True).start()
    http.server.ThreadingHTTPServer(("127.77.3.9", 18473), H).serve_forever()
