"""A proxy on a unix socket that knows CONNECT and leads every name to one port here.

Arguments: path of its socket, port. Says each name that it was asked for on a
line of its own.
"""
import os
import socket
import sys
import threading

path, port = sys.argv[1], int(sys.argv[2])


def copy(source, target):
    while True:
        try:
            data = source.recv(4096)
        except OSError:
            data = b""
        if not data:
            break
        target.sendall(data)
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client):
    head = b""
    while b"\r\n\r\n" not in head:
        data = client.recv(4096)
        if not data:
            return
        head += data
    print(head.split()[1].decode(), flush=True)
    upstream = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    threading.Thread(target=copy, args=(client, upstream), daemon=True).start()
    copy(upstream, client)
    client.close()


server = socket.socket(socket.AF_UNIX)
server.bind(path)
os.chmod(path, 0o666)
server.listen(16)
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
