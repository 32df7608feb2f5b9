# The recipe of the guide, between a web server and a run that are not the internet's: in
# namespaces of their own, with names that lead to this machine.
#
# Finds in the directory that it starts in: recipe.sh and command.sh as the guide has them, and
# home, with the configuration. Its word is the user that types them.
set -e
user="setpriv --reuid $1 --regid $1 --clear-groups --inh-caps=-all"
ip link set lo up
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem \
  -subj /CN=www.example.org -addext subjectAltName=DNS:www.example.org 2>openssl.log
mount --bind cert.pem /etc/ssl/certs/ca-certificates.crt
openssl s_server -accept 127.0.0.1:443 -cert cert.pem -key key.pem -WWW -quiet >server.log 2>&1 &
echo '127.0.0.1 localhost www.example.org www.example.net github.com' >hosts
export HOME="$PWD/home" OUTLAST_HOME="$PWD/home/store"
# The names are the proxy's alone: a run does not find them by itself.
(cd home && unshare --mount --propagation private \
  sh -c "mount --bind ../hosts /etc/hosts && exec $user sh ../recipe.sh" >../recipe.log 2>&1)
listens() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
is_up() {
  [ -S home/.local/state/outlast-proxy/socket ] && listens 3129 && listens 443
}
for _ in $(seq 600); do
  if is_up; then break; fi
  sleep 0.05
done
cd home/work
exec $user sh ../../command.sh
