import urllib.request

urllib.request.urlopen("http://192.0.2.1/", timeout=2)
